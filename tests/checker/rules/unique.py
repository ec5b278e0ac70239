"""Unique keys: at most one job holds a key at a time, or in its period."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from penstock.domain.clock import MICROSECONDS
from tests.checker.evidence import Life
from tests.checker.rules.rule import SLACK_US, Broken, Case, rule
from tests.checker.sweeps import Span, first_crowd


@rule("At most one job holds a unique key: for its period, or, without one, until it has ended.")
def unique_keys(case: Case) -> Iterator[Broken]:
    holders: dict[str, list[Span[Life]]] = defaultdict(list)
    for life in case.evidence.lives.values():
        span = _held(case, life)
        if span is not None and life.job is not None and life.job.unique is not None:
            holders[life.job.unique.key].append(span)
    for key, spans in holders.items():
        crowd = first_crowd(spans, limit=1)
        if crowd is not None:
            ids = [span.of.id for span in crowd]
            message = f"jobs {' and '.join(ids)} hold the unique key {key!r} at the same time"
            yield Broken(message, jobs=tuple(ids), at=max(span.begin for span in crowd))


def _held(case: Case, life: Life) -> Span[Life] | None:
    """When the job surely held its key: from the answer to its enqueue, if that says that it was stored."""
    stored = life.stored_by
    if stored is None or life.job is None or life.job.unique is None:
        return None
    per = life.job.unique.per
    if per is None:
        return Span(stored.ended, case.evidence.alive_until(life), life)
    if case.bounds.clocks_jump:
        return None
    first = min(origin.operation.begun for origin in life.origins)
    return Span(stored.ended, first + int(per * MICROSECONDS) - SLACK_US, life)
