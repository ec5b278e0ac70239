"""How a handler puts its job off: what it raises, and for how long it means that (J11)."""

from __future__ import annotations

from penstock.domain.duration import Duration, parse_duration
from penstock.domain.errors import PenstockError
from penstock.domain.failure.causes import parts


class Snooze(PenstockError):
    """Raised by a handler: put the job back for `delay`, a duration. No attempt is spent, up to the option `snoozes`.

    After that it counts as a failure, and the next attempt waits as long as it asks.
    """

    def __init__(self, delay: Duration, message: str = "the handler put it off") -> None:
        super().__init__(message)
        self.delay = parse_duration(delay, "Snooze(delay)")


def snooze_of(error: BaseException) -> Snooze | None:
    """The snooze that this error is, the longest of a group of nothing else. Beside others it does not hide them."""
    found = parts(error)
    if not all(isinstance(one, Snooze) for one in found):
        return None
    asked = [
        (seconds, one) for one in found if isinstance(one, Snooze) and (seconds := snooze_seconds(one)) is not None
    ]
    return max(asked, key=lambda pair: pair[0])[1] if len(asked) == len(found) else None


def snooze_seconds(error: Snooze) -> float | None:
    """How long it asks to wait; None if a class of the user's own says something that is no duration."""
    try:
        return parse_duration(error.delay, "Snooze(delay)")
    except Exception:
        return None
