"""What is counted by route and tenant: added up, packed, and who is told of by name."""

from __future__ import annotations

import pytest

from penstock.domain.figures.counting import counts_of
from penstock.domain.figures.series import (
    OTHER,
    Count,
    Figures,
    Route,
    Tally,
    TenantFigures,
    pack,
    top,
    total,
    unpack,
)
from penstock.domain.job import DecidedBy, Event

MAIL = Route("send", "mail", "general")


def test_figures_add_up() -> None:
    one = Figures({Count.COMPLETED: 1}, 0.5, {1: 1}, {2: 1}, {3: 1}, {1: 1}, 2)
    two = Figures({Count.COMPLETED: 2, Count.FAILED: 1}, 1.0, {1: 2, 4: 1}, {}, {}, {3: 1}, 1)
    assert total([one, two]) == Figures(
        {Count.COMPLETED: 3, Count.FAILED: 1}, 1.5, {1: 3, 4: 1}, {2: 1}, {3: 1}, {1: 1, 3: 1}, 3
    )
    assert total([one, two]).runs == 4
    assert one.counts == {Count.COMPLETED: 1}  # Nothing is shared with the sum.


def test_a_tally_is_what_it_was_when_it_is_read_again() -> None:
    tally = Tally()
    tally.of(MAIL).count(Count.STARTED, Count.COMPLETED, times=3)
    tally.of(Route('a "b"\\', "q\n", "\u2028")).running[7] = 1
    tally.of_tenant("acme").add(TenantFigures(1, 2, 3.0))
    assert unpack(pack(tally)) == tally
    assert tally
    assert not Tally()


def test_tallies_add_up_by_route_and_tenant() -> None:
    into, more = Tally(), Tally()
    for tally in (into, more):
        tally.of(MAIL).count(Count.COMPLETED)
        tally.of_tenant("acme").completed += 1
    more.of_tenant("other").failed += 1
    into.add(more)
    assert into.routes[MAIL].counts == {Count.COMPLETED: 2}
    assert into.tenants == {"acme": TenantFigures(2), "other": TenantFigures(0, 1)}


def test_the_tenants_with_the_most_work_are_told_by_name() -> None:
    tenants = {f"t{number}": TenantFigures(1, 0, float(number)) for number in range(5)}
    assert top(tenants, 2) == {"t4": tenants["t4"], "t3": tenants["t3"], OTHER: TenantFigures(3, 0, 3.0)}
    assert top(tenants, 5) == tenants


@pytest.mark.parametrize(
    ("event", "decided_by", "counts"),
    [
        (Event.COMPLETE, "worker", {Count.COMPLETED}),
        (Event.BACK_OFF, "worker", {Count.FAILED, Count.RETRIED}),
        (Event.FAIL, "worker", {Count.FAILED, Count.DEAD}),
        (Event.FAIL, "recovery", {Count.RECOVERED, Count.DEAD}),
        (Event.FAIL, "start-timeout", {Count.START_TIMEOUT, Count.DEAD}),
        (Event.FAIL, "routing", {Count.DEAD}),
        (Event.FAIL, "store", {Count.DEAD}),
        (Event.RECOVER, "recovery", {Count.RECOVERED, Count.RETRIED}),
        (Event.GIVE_BACK, "start-timeout", {Count.START_TIMEOUT}),
        (Event.RELEASE, "worker", {Count.RELEASED}),
        (Event.SNOOZE, "worker", {Count.SNOOZED}),
        (Event.CANCEL, "operator", {Count.CANCELLED}),
        (Event.EXPIRE, "ttl", {Count.EXPIRED}),
    ],
)
def test_what_happens_counts_as(event: Event, decided_by: DecidedBy, counts: set[Count]) -> None:
    assert set(counts_of(event, decided_by)) == counts


def test_all_else_counts_as_nothing() -> None:
    counted = {Event.COMPLETE, Event.BACK_OFF, Event.FAIL, Event.RECOVER, Event.GIVE_BACK, Event.RELEASE, Event.SNOOZE,
               Event.CANCEL, Event.EXPIRE}  # fmt: skip
    assert {event for event in Event if counts_of(event)} == counted
