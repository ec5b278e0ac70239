"""Limits hold: leases per concurrency key at any moment, and claims per rate key in any window."""

from __future__ import annotations

from collections.abc import Iterator

from tests.checker.evidence import Lease, by_key
from tests.checker.rules.rule import Broken, Case, rule
from tests.checker.sweeps import Span, first_burst, first_crowd


@rule("Never more than the limit of leases are held at the same time for one key.")
def key_limit(case: Case) -> Iterator[Broken]:
    if case.bounds.claims_undone:
        return
    for key, lives in by_key(case.evidence.lives, "key").items():
        limit = case.bounds.key_limits.get(key)
        leases = [lease for life in lives for lease in life.leases]
        spans = [Span(lease.claim.ended, case.evidence.held_until(lease), lease) for lease in leases]
        crowd = first_crowd(spans, limit) if limit is not None else None
        if crowd is not None:
            ids = [span.of.id for span in crowd]
            message = f"jobs {' and '.join(ids)} are held at the same time, and the limit of key {key!r} is {limit}"
            yield Broken(message, jobs=tuple(ids), at=max(span.begin for span in crowd))


@rule("Never more than the limit of claims are made in any window, by the store's time, for one rate.")
def rate_limit(case: Case) -> Iterator[Broken]:
    if case.bounds.claims_undone or case.bounds.clocks_jump:
        return
    for key, lives in by_key(case.evidence.lives, "rate").items():
        rate = case.bounds.rates.get(key)
        if rate is None:
            continue
        used = [(_claimed_at(lease), lease) for life in lives for lease in life.leases if not _returned(case, lease)]
        used.sort(key=lambda one: one[0])
        burst = first_burst([moment for moment, _ in used], rate.count, rate.per_us)
        if burst is not None:
            leases = [used[position][1] for position in burst]
            events = [event for lease in leases for event in lease.claim.events]
            took = (used[burst[-1]][0] - used[burst[0]][0]) / 1e6
            message = f"{len(leases)} jobs of rate {key!r} were claimed within {took:.6f} s, and the limit is "
            message += f"{rate.count} in {rate.per_us / 1e6:g} s"
            yield Broken(message, events)


def _claimed_at(lease: Lease) -> int:
    """By the store's clock, where it was told."""
    told: int | None = lease.passed_at or lease.claim.told.claimed_at
    return lease.claim.ended if told is None else told


def _returned(case: Case, lease: Lease) -> bool:
    """A claim that was given back before it began has used nothing up, also if it was told as begun: a worker tells of
    those that are next, so that nobody else gets them, and then asks whether they are its own.
    """
    released = any(write.event == "release" and write.operation.ok for write in lease.writes)
    return released and lease.token not in case.run_tokens
