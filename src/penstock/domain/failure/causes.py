"""The errors behind an error: the parts of a group, and what a wrapped one was raised from."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.domain.failure.http_errors import attribute

PARTS_MAX = 100
DEPTH_MAX = 10


def parts(error: BaseException) -> list[BaseException]:
    """The errors in a group, such as those of the tasks of a TaskGroup. Any other error is its own only part."""
    found: list[BaseException] = []
    rest = [(error, 0)]
    while rest and len(found) < PARTS_MAX:
        one, depth = rest.pop()
        inside = _inside(one) if depth < DEPTH_MAX else []
        rest += [(part, depth + 1) for part in reversed(inside)]
        found += [] if inside else [one]
    return found


def _inside(error: BaseException) -> list[BaseException]:
    found = attribute(error, "exceptions") if isinstance(error, BaseExceptionGroup) else None
    return [one for one in found[:PARTS_MAX] if isinstance(one, BaseException)] if isinstance(found, tuple) else []


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error, then what it was raised from: `raise … from cause`, or the `reason` of urllib's URLError.

    Not what was merely being handled when it was raised (`__context__`): a mistake in an except block is a mistake.
    """
    one: object = error
    for _ in range(DEPTH_MAX):
        if not isinstance(one, BaseException):
            return
        yield one
        cause = attribute(one, "__cause__")
        one = attribute(one, "reason") if cause is None else cause
