"""When an alert begins, fires and is over, moment by moment."""

from __future__ import annotations

import msgspec
import pytest

from penstock.observe.alerts.catalogue import OTHERS
from penstock.observe.alerts.facts import Breach
from penstock.observe.alerts.state import SCOPES_MAX, advance, quiet_seconds, recent
from penstock.store.contract import AlertRow

SECOND = 1_000_000
NOW = 1_900_000_000 * SECOND
RULE = "unroutable_jobs"


def breach(scope: str = "a", **fields: object) -> Breach:
    return Breach(**{"scope": scope, "title": "t", "message": "m", **fields})  # type: ignore[arg-type]


class Life:
    """One rule over time, as a store would keep it."""

    def __init__(self, hold: float = 60.0) -> None:
        self.hold = hold
        self.now = NOW
        self.rows: dict[tuple[str, str], AlertRow] = {}

    def look(self, seconds: float, *breaches: Breach) -> str | None:
        self.now += round(seconds * SECOND)
        self.rows |= advance(RULE, self.rows.values(), breaches, self.hold, self.now)
        row = self.rows.get((RULE, "a"))
        return None if row is None else row.state

    @property
    def row(self) -> AlertRow:
        return self.rows[RULE, "a"]


def test_what_lasts_for_long_enough_fires_and_what_is_gone_for_long_enough_is_resolved() -> None:
    life = Life()
    assert life.look(0, breach()) == "pending"
    assert life.look(59, breach()) == "pending"
    assert life.look(1, breach()) == "firing"
    assert (life.row.since, life.row.fired_at) == (NOW, NOW + 60 * SECOND)
    assert life.look(15) == "firing"
    assert life.look(59) == "firing"
    assert life.look(1) == "resolved"
    assert life.row.resolved_at == life.now


def test_without_a_span_it_fires_at_once() -> None:
    assert Life(hold=0.0).look(0, breach()) == "firing"


def test_what_is_gone_before_it_fires_is_never_told() -> None:
    life = Life()
    life.look(0, breach())
    assert life.look(30) == "resolved"
    assert life.row.fired_at is None


def test_what_comes_back_while_it_is_quiet_is_the_same() -> None:
    life = Life(0.0)
    life.look(0, breach())
    key = life.row.key
    life.look(15)
    assert isinstance(life.row.quiet_at, int)
    life.look(15, breach())
    assert (life.row.key, str(life.row.quiet_at)) == (key, "None")
    life.look(50)
    assert life.look(59) == "firing"


def test_what_comes_back_after_that_is_another() -> None:
    life = Life(0.0)
    life.look(0, breach())
    key = life.row.key
    for seconds in (15, 60):
        life.look(seconds)
    assert life.look(15, breach()) == "firing"
    assert life.row.key != key
    assert (life.row.told, life.row.resolved_at, life.row.since) == ({}, None, life.now)


def test_while_it_is_pending_it_is_told_as_it_is_and_then_stays() -> None:
    life = Life()
    life.look(0, breach(value=1))
    life.look(60, breach(value=2, message="two"))
    assert (life.row.value, life.row.message) == (2, "two")
    life.look(60, breach(value=3, message="three"))
    assert (life.row.value, life.row.message) == (2, "two")


def test_nothing_that_stays_as_it_is_is_written() -> None:
    life = Life(0.0)
    life.look(0, breach())
    assert advance(RULE, life.rows.values(), [breach(value=9)], 0.0, life.now + SECOND) == {}
    assert advance(RULE, [], [], 0.0, NOW) == {}


def test_other_rules_are_left_alone() -> None:
    other = AlertRow(
        rule="stale_jobs", scope="a", state="firing", severity="warning", key="k", since=NOW, title="t", message="m"
    )
    assert advance(RULE, [other], [], 0.0, NOW + 1000 * SECOND) == {}


def test_moments_of_a_clock_that_was_set_back_count_from_now() -> None:
    life = Life()
    life.look(0, breach())
    assert life.look(-3600, breach()) == "pending"
    assert life.row.since == life.now
    assert life.look(60, breach()) == "firing"
    life.look(1)
    assert life.look(-3600) == "firing"
    assert life.row.quiet_at == life.now
    assert life.look(60) == "resolved"


@pytest.mark.parametrize(("times", "seconds"), [(0, 60), (1, 60), (2, 120), (3, 240), (6, 960), (20, 960)])
def test_the_more_often_it_was_told_the_longer_it_must_be_quiet(times: int, seconds: float) -> None:
    life = Life(0.0)
    life.look(0, breach())
    row = msgspec.structs.replace(life.row, sent=tuple(NOW - number * SECOND for number in range(times)))
    assert quiet_seconds(row, NOW) == seconds


def test_only_what_was_told_in_the_last_hour_counts() -> None:
    life = Life(0.0)
    life.look(0, breach())
    row = msgspec.structs.replace(life.row, sent=(NOW - 3600 * SECOND, NOW - 3599 * SECOND, NOW, NOW + SECOND))
    assert recent(row, NOW) == (NOW - 3599 * SECOND, NOW)


def test_of_very_many_those_that_fire_already_stay_and_the_rest_is_one() -> None:
    life = Life(0.0)
    life.look(0, breach("z-first", value=0))
    many = [breach(f"n{number}", value=number) for number in range(100)]
    life.look(15, breach("z-first", value=0), *many)
    firing = {scope for (_, scope), row in life.rows.items() if row.state == "firing" and row.quiet_at is None}
    assert len(firing) == SCOPES_MAX
    assert {"z-first", "n99", OTHERS} <= firing
    assert "n0" not in firing
    assert "more like it" in life.rows[RULE, OTHERS].message
