"""Logs of the command line, as text or JSON, and the shape of a record. The library itself never configures logging.

Everything that penstock logs about an event is an ordinary record whose message says all that a person needs, with
`extra=fields(event, **values)` for programs: the values become attributes of the record, so that any formatter can
use them. Build them only where the level is enabled:

    if logger.isEnabledFor(logging.INFO):
        logger.info("%s attempt %d completed", id, attempt, extra=fields("job.completed", job_id=id, attempt=attempt))

The events and their values are listed in docs/logs.md. A value must not have the name of something that every record
has, such as `name`, `args` or `process`: logging refuses it.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import MutableMapping
from typing import IO, TYPE_CHECKING, Any

from penstock.domain.errors import ConfigError
from penstock.domain.options import Tenant
from penstock.observe.formats import JsonFormat, TextFormat, colourful

if TYPE_CHECKING:
    from penstock.store.contract import Claim

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")

configured: tuple[str, str] | None = None
"""What configure() has set up, for child processes to do the same."""


def fields(event: str, **values: Any) -> dict[str, Any]:
    """The `extra` of a record about an event. A value of None is left out."""
    return {"event": event, **{name: value for name, value in values.items() if value is not None}}


def job_fields(job: Claim) -> dict[str, Any]:
    """What every record about a job carries. None is what it does not have."""
    return {"job_id": job.id, "type": job.type, "queue": job.queue, "attempt": job.attempt, "tags": job.tags or None,
            **tenant_fields(job.tenant)}  # fmt: skip


def tenant_fields(tenant: Tenant | None) -> dict[str, Any]:
    return {} if tenant is None else {"tenant": tenant.org, "workspace": tenant.workspace}


class JobLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger that adds the job's fields to every record, and keeps the fields that the caller gives."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **(self.extra or {})}
        return msg, kwargs


class LogLines(logging.StreamHandler[IO[str]]):
    """Writes lines until nobody reads them any more; what is logged must never stop what is done."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 — the name that logging calls
        if isinstance(sys.exc_info()[1], BrokenPipeError):
            self.setLevel(logging.CRITICAL + 1)
        else:
            super().handleError(record)


def configure(level: str = "info", format: str = "text", *, processes: bool = False) -> None:
    """Log to stdout, for every logger. A program that has configured logging already keeps what it has.

    With `processes` each line of text names its process, for a stdout that several share.
    """
    _check("log level", level, LEVELS)
    _check("log format", format, FORMATS)
    root = logging.getLogger()
    if root.handlers:
        return
    global configured
    configured = (level, format)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8" if format == "json" else None, errors="backslashreplace")
    handler = LogLines(sys.stdout)
    handler.setFormatter(
        JsonFormat() if format == "json" else TextFormat(colours=colourful(sys.stdout), processes=processes)
    )
    root.addHandler(handler)
    root.setLevel(level.upper())


def _check(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{what} {value!r} is not known: use one of {', '.join(known)}")
