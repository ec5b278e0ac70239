"""In which order rows are shown, and which orders there are for what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.observe.top.rows import By, Row

Amount = Callable[[Any], float | None]


def _rate(row: Any) -> float:
    return float(row.completed_per_second + row.failed_per_second)


_OF_WORK: Mapping[str, Amount] = {
    "waiting": lambda row: row.pending,
    "rate": _rate,
    "failed": lambda row: row.failed_per_second,
    "oldest": lambda row: row.oldest_seconds,
    "wait": lambda row: row.wait.p99,
    "run": lambda row: row.run.p99,
    "slots": lambda row: row.running,
}
_OF_TENANTS: Mapping[str, Amount] = {
    "slots": lambda row: row.slots_busy,
    "rate": _rate,
    "failed": lambda row: row.failed_per_second,
}
_OF_WORKERS: Mapping[str, Amount] = {"jobs": lambda row: row.jobs, "silent": lambda row: row.silent_seconds}
_AMOUNTS: Mapping[By, Mapping[str, Amount]] = {
    "type": _OF_WORK, "queue": _OF_WORK, "tenant": _OF_TENANTS, "worker": _OF_WORKERS,
}  # fmt: skip
NAME = "name"


def sorts_of(by: By) -> tuple[str, ...]:
    """The orders that there are, the usual one first: the most of something, or by name."""
    return (*_AMOUNTS[by], NAME)


def ordered(rows: Sequence[Row], by: By, sort: str) -> list[Row]:
    """The most first; what is the same by its rate, then by name."""
    amounts = _AMOUNTS[by]
    amount = amounts.get(sort, _nothing)
    second = amounts.get("rate", _nothing) if sort != NAME else _nothing
    return sorted(rows, key=lambda row: (-_number(amount(row)), -_number(second(row)), row.name))


def _nothing(row: Any) -> float:
    return 0.0


def _number(value: float | None) -> float:
    """What is not known is less than all else."""
    return -1.0 if value is None else value
