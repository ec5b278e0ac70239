"""A violation as a person reads it: the promise, what broke it, the events behind it, and how to see it again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.checker.events import Event
from tests.checker.rules import Case, Violation
from tests.checker.rules.rule import REGISTERED

EVENTS_MAX = 60
LINE_MAX = 180
LIST_MAX = 2
_HEAD = ("at", "process", "op", "phase", "call")
_SIGN = {"invoke": "?", "ok": "=", "fail": "x", "unknown": "~", "note": "-"}


def report(case: Case, found: Sequence[Violation], seed: object = None, replay: str | None = None) -> str:
    """`found` is every broken rule, the earliest first: that one is shown in full."""
    first = found[0]
    begin = case.history.events[0].at if case.history.events else 0
    lines = [
        f"BROKEN: {first.rule}",
        f"  promise: {REGISTERED[first.rule].promise if first.rule in REGISTERED else first.rule}",
        f"  found:   {first.message}",
        *_truth(case, first),
        *_slice(first, begin),
    ]
    if len(found) > 1:
        lines += ["  also broken, later:", *(f"    {other.rule}: {other.message}" for other in found[1:])]
    lines.append(f"  history: {len(case.history.events)} events, {len(case.truth.jobs)} jobs at the end")
    if seed is not None:
        lines.append(f"  seed:    {seed}")
    if replay is not None:
        lines.append(f"  replay:  {replay}")
    return "\n".join(lines)


def _slice(violation: Violation, begin: int) -> list[str]:
    """Questions are marked ?, answers =, errors x, what is unknown ~, and notes -."""
    events = sorted(violation.events, key=lambda event: event.at)
    words = set(_words(violation.message))
    left_out = max(0, len(events) - EVENTS_MAX)
    note = f"; {left_out} earlier ones are left out" if left_out else ""
    head = [f"  events (seconds since the beginning{note}):"] if events else []
    return head + [_line(event, begin, words) for event in events[left_out:]]


def _line(event: Event, begin: int, words: set[str]) -> str:
    fields = {name: _brief(value, words) for name, value in msgspec.to_builtins(event).items() if name not in _HEAD}
    call = "" if event.call is None else f"#{event.call}"
    told = msgspec.json.encode(fields).decode() if fields else ""
    moment = f"{(event.at - begin) / 1e6:12.6f}"
    line = f"    {moment} {event.process:<12} {_SIGN[event.phase]} {event.op:<11} {call:<6} {told}".rstrip()
    return line if len(line) <= LINE_MAX else line[: LINE_MAX - 1] + "…"


def _brief(value: Any, words: set[str]) -> Any:
    """Of a long list only what the message speaks of."""
    if not isinstance(value, list | tuple) or len(value) <= LIST_MAX:
        return value
    named = [one for one in value if not words.isdisjoint(_words(str(one)))]
    return [*named[:LIST_MAX], f"… of {len(value)}"]


def _words(text: str) -> list[str]:
    return re.findall(r"[\w-]+", text)


def _truth(case: Case, violation: Violation) -> list[str]:
    """What the store shows of the jobs that the message names."""
    words = set(_words(violation.message))
    named = [job for job in case.truth.jobs if job.id in words]
    return [f"  store:   {msgspec.json.encode(job).decode()}" for job in named]
