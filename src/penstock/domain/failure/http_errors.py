"""What the error of an HTTP client carries: the status, and the wait that the server asked for.

No client is imported: they are known by the attributes that they have in common. Those are somebody else's code, which
may raise anything; nothing of that gets out of here.
"""

from __future__ import annotations

import re
from typing import Any

from penstock.domain.clock import MICROSECONDS

RETRY_AFTER_SECONDS_MAX = 86400.0
"""A server that asks for more is asked again after a day: a mistake of its own must not park a job for years."""
HEADER_CHARS_MAX = 100
_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")


def http_status(error: object) -> int | None:
    """The HTTP status that an error carries, in the ways that HTTP clients carry it. An exit has a code of its own."""
    if isinstance(error, SystemExit):
        return None
    for holder in (error, attribute(error, "response")):
        for name in ("status_code", "status", "code"):
            status = _as_status(attribute(holder, name))
            if status is not None:
                return status
    return None


def retry_after(error: object, now_us: int) -> float | None:
    """The seconds that the server asked to wait, by a Retry-After of either form.

    A date is measured from the date of the answer itself, if that has one: then no clock of this machine matters. One
    that has passed says nothing about how long to wait.
    """
    text = _header(error, "retry-after")
    if text is None:
        return None
    if _SECONDS.fullmatch(text):
        return min(float(text), RETRY_AFTER_SECONDS_MAX)
    until, since = _moment(text), _moment(_header(error, "date"))
    if until is None:
        return None
    wait = until - (now_us / MICROSECONDS if since is None else since)
    return min(wait, RETRY_AFTER_SECONDS_MAX) if wait > 0 else None


def attribute(holder: object, name: str) -> Any:
    """An attribute of somebody else's exception; None if there is none, or if its code raised."""
    try:
        return getattr(holder, name, None)
    except BaseException:
        return None


def _as_status(value: object) -> int | None:
    try:
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
            return int(value)
    except BaseException:  # A number of somebody else's making.
        pass
    return None


def _header(error: object, name: str) -> str | None:
    for holder in (attribute(error, "response"), error):
        headers = attribute(holder, "headers")
        for spelling in (name, name.title(), name.upper()):
            value = _text(headers, spelling)
            if value is not None:
                return value
    return None


def _text(headers: Any, name: str) -> str | None:
    try:
        value = headers.get(name)
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        return text.strip() if isinstance(text, str) and len(text) <= HEADER_CHARS_MAX else None
    except BaseException:  # There are none, or they are of somebody else's making.
        return None


def _moment(text: str | None) -> float | None:
    """Seconds since the epoch of an HTTP date, in any of its three forms."""
    from email.utils import mktime_tz, parsedate_tz

    try:
        parts = None if text is None else parsedate_tz(text)
        return None if parts is None else mktime_tz((*parts[:9], parts[9] or 0))
    except Exception:  # A date that does not exist.
        return None
