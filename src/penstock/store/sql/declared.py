"""The job types that workers have declared, as they are stored. What cannot be read counts as not declared."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from penstock.domain.options import Options
from penstock.store.contract import Finding
from penstock.store.sql.steps import Steps, run
from penstock.store.sql.unreadable import TOLD_MAX, UNREADABLE, why_unreadable

NAMED_MAX = 20

log = logging.getLogger("penstock.store")

_options = msgspec.json.Decoder(Options).decode

Rows = Iterable[tuple[str, str]]


def make_options(rows: Rows) -> dict[str, Options]:
    """The declared types: (name, options). One that cannot be read keeps nobody from the others."""
    found = dict(_read(rows))
    for name, one in found.items():
        if isinstance(one, str):
            tell_unreadable_type(name, one)
    return {name: one for name, one in found.items() if isinstance(one, Options)}


def read_types() -> Steps[dict[str, Options]]:
    return make_options((yield from run("read_types")))


def _read(rows: Rows) -> Iterator[tuple[str, Options | str]]:
    """Each with its options, or with why they cannot be read."""
    for name, text in rows:
        try:
            yield name, _options(text)
        except UNREADABLE as error:
            yield name, why_unreadable(error)


@lru_cache(TOLD_MAX)
def tell_unreadable_type(name: str, why: str) -> None:
    log.error(
        "the options of the type %r cannot be read, so it counts as not declared until a worker that declares it is "
        "started; somebody has changed the tables by hand, or this is a defect: %s", name, why,
    )  # fmt: skip


def type_findings(rows: Rows) -> Iterator[Finding]:
    """What the doctor says of them."""
    found = dict(_read(rows))
    bad = {name: one for name, one in found.items() if isinstance(one, str)}
    for name, why in list(bad.items())[:NAMED_MAX]:
        yield Finding(
            "types", "warning", f"the options of the type {name!r} cannot be read, so it counts as not declared: what "
            f"is enqueued by its name gets the defaults, and what is retried keeps its own ({why})",
            f"start a worker that declares {name!r}: it writes them anew",
        )  # fmt: skip
    if len(bad) > NAMED_MAX:
        more = f"{len(bad) - NAMED_MAX:,} more types whose options cannot be read"
        yield Finding("types", "warning", more, "start workers that declare them")
    if not bad:
        yield Finding("types", "ok", f"{len(found):,} declared" if found else "none is declared")
