"""What the SQL engines judge alike about pauses and orders to workers: which names are known, who can be told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.duration import format_duration
from penstock.domain.errors import ConfigError, PenstockError, UnknownQueue, UnknownType, UnknownWorker
from penstock.domain.options import Options, check_name
from penstock.domain.pauses import PauseKind
from penstock.store.params import OpenJobs

SLOTS_MAX = 10_000
LISTED_MAX = 20
FORCE_HINT = "; to pause one that is yet to come: --force (force=True)"

_names = msgspec.json.Decoder(tuple[str, ...] | None).decode


def checked_names(kind: PauseKind, names: Sequence[str]) -> tuple[str, ...]:
    """Each once, in the order given."""
    if not names:
        raise ConfigError(f"name at least one {kind}")
    return tuple(dict.fromkeys(check_name(name, kind) for name in names))


def known_names(
    kind: PauseKind,
    routes: Iterable[tuple[str, str]],
    types: dict[str, Options],
    workers: Iterable[tuple[str, str | None]],
) -> set[str]:
    """All that the store has seen: in jobs (type, queue), declared by workers, or served by them (types, queues)."""
    column = 0 if kind == "type" else 1
    found = {route[column] for route in routes}
    found |= set(types) if kind == "type" else {options.queue for options in types.values()}
    return found.union(*(_served(texts[column]) for texts in workers))


def _served(names: str | None) -> tuple[str, ...]:
    """None where all are served, or where nobody can read which."""
    try:
        return () if names is None else _names(names) or ()
    except msgspec.MsgspecError:
        return ()


def refuse_unknown_names(kind: PauseKind, names: Sequence[str], known: set[str], hint: str = "") -> None:
    missing = [name for name in names if name not in known]
    if missing:
        raise unknown_name(kind, missing, known, hint)


def unknown_name(kind: PauseKind, missing: Sequence[str], known: Iterable[str], hint: str = "") -> PenstockError:
    error = UnknownQueue if kind == "queue" else UnknownType
    listed = f"known are: {_listed(sorted(known))}" if known else "the store knows none yet"
    return error(f"no {kind} is named {', '.join(map(repr, missing))} in this store; {listed}{hint}")


def make_open(
    type: str, queue: str, pending: int | None, scheduled: int | None, retrying: int | None, running: int | None,
    blocked: int | None, oldest: int | None,
) -> OpenJobs:  # fmt: skip
    """From the sums of the engines, which are empty where there is nothing to sum."""
    return OpenJobs(
        type=type,
        queue=queue,
        pending=pending or 0,
        scheduled=scheduled or 0,
        retrying=retrying or 0,
        running=running or 0,
        blocked=blocked or 0,
        oldest_due_at=oldest,
    )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - LISTED_MAX
    return ", ".join(names[:LISTED_MAX]) + (f" and {more:,} more" if more > 0 else "")


# Workers


def check_slots(slots: object, name: str = "slots") -> int:
    if not isinstance(slots, int) or isinstance(slots, bool) or not 1 <= slots <= SLOTS_MAX:
        raise ConfigError(f"{name}={slots!r} is not possible: a whole number from 1 to {SLOTS_MAX}")
    return slots


def refuse_without_slots(worker_id: str, slots: int) -> None:
    """An error for one that runs no jobs, and has none for that reason."""
    if slots == 0:
        raise UnknownWorker(f"{worker_id!r} is a coordinator: it runs no jobs, so it has no slots")


def refuse_absent(worker_id: str, found: Sequence[tuple[str, int, int]], live: Sequence[str]) -> None:
    """An error unless the newest worker with this id is alive: (status, silent, stale after), in microseconds."""
    alive = f"alive are: {_listed(live)}" if live else "no worker is alive"
    if not found:
        raise UnknownWorker(f"no worker has the id {worker_id!r} in this store; {alive}")
    [(status, silent, stale_after)] = found
    if status not in ("active", "draining"):
        ended = "was lost" if status == "lost" else "has ended"
        raise UnknownWorker(f"the worker {worker_id!r} {ended}, so nobody would hear this; {alive}")
    if silent > stale_after:
        since = format_duration(round(silent / MICROSECONDS))
        raise UnknownWorker(
            f"the worker {worker_id!r} was last heard of {since} ago, so it may be dead; its jobs are taken back by "
            "the others, or with: penstock recover"
        )
