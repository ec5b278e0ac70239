"""Names of queues and types that nobody knows: refused with those that are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.domain.errors import PenstockError, UnknownQueue, UnknownType
from penstock.domain.flow.pauses import PauseKind

LISTED_MAX = 20


def refuse_unknown_names(kind: PauseKind, names: Sequence[str], known: set[str], hint: str = "") -> None:
    missing = [name for name in names if name not in known]
    if missing:
        raise _unknown_name(kind, missing, known, hint)


def _unknown_name(kind: PauseKind, missing: Sequence[str], known: Iterable[str], hint: str = "") -> PenstockError:
    error = UnknownQueue if kind == "queue" else UnknownType
    all_of_them = f"known are: {listed(sorted(known))}" if known else "the store knows none yet"
    return error(f"no {kind} is named {', '.join(map(repr, missing))} in this store; {all_of_them}{hint}")


def listed(names: Sequence[str]) -> str:
    more = len(names) - LISTED_MAX
    return ", ".join(names[:LISTED_MAX]) + (f" and {more:,} more" if more > 0 else "")
