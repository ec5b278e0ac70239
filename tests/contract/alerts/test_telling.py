"""Who is told what, and how often: whatever fails, and whoever leads."""

from __future__ import annotations

import logging

import pytest

from penstock.coordinator.alerting.unled import Unled
from penstock.domain.errors import NotLeader, OutboundFailed, StoreUnavailable
from penstock.observe.alerts.settings import AlertSettings
from penstock.observe.health import unheard
from penstock.store import contract as p
from tests.contract.alerts.watch import QUIET, Kept, Watch, answered_500, counted
from tests.contract.conftest import OpenAgain
from tests.contract.world import World

FIRES = ("firing", "final_failure", "task")
OVER = ("resolved", "final_failure", "task")


@pytest.fixture
def ops() -> Kept:
    return Kept()


@pytest.fixture
def watch(world: World, ops: Kept) -> Watch:
    return Watch(world, "leader", ops)


def fail(watch: Watch, **fields: object) -> str:
    return watch.world.add_dead(watch.session, **fields)  # type: ignore[arg-type]


def test_each_occurrence_has_a_key_of_its_own_that_both_its_messages_bear(watch: Watch, ops: Kept) -> None:
    keys = []
    for _ in range(2):
        fail(watch)
        for _ in range(10):
            watch.look(60.0)
        assert [one.state for one in ops.got] == ["firing", "resolved"]
        keys.append({one.key for one in ops.got})
        assert "over after" in ops.got[1].message
        ops.got.clear()
    assert [len(each) for each in keys] == [1, 1]
    assert keys[0] != keys[1]


def test_what_never_ends_is_told_once(watch: Watch, ops: Kept) -> None:
    for _ in range(60):
        fail(watch)
        watch.look(60.0)
    assert ops.said() == [FIRES]


def test_what_comes_and_goes_is_resolved_ever_more_slowly(watch: Watch, ops: Kept) -> None:
    """It is wrong for two minutes of four, for two hours: that would be thirty times."""
    watch.world.add(type="film", capability="media")
    for _ in range(30):
        watch.look(60.0)
        watch.look(60.0)
        watch.world.pause("queue", "default")
        watch.look(60.0)
        watch.look(60.0)
        watch.world.resume("queue", "default")
    assert 1 < len([one for one in ops.got if one.state == "firing"]) < 8


def test_a_take_over_neither_repeats_nor_forgets(world: World, watch: Watch, ops: Kept, open_again: OpenAgain) -> None:
    fail(watch)
    watch.look(1.0)
    assert ops.said() == [FIRES]
    watch.resign()
    next_ops = Kept()
    successor = Watch(open_again(), "successor", next_ops)
    successor.look(1.0)
    assert next_ops.said() == []
    for _ in range(8):
        successor.look(60.0)
    assert next_ops.said() == [OVER]
    fail(watch)
    with pytest.raises(NotLeader):
        watch.look(1.0)
    assert ops.said() == []


def test_a_leader_killed_between_sending_and_storing_is_repeated_once_with_the_same_key(
    watch: Watch, ops: Kept, open_again: OpenAgain
) -> None:
    fail(watch)
    ops.killed = True
    with pytest.raises(KeyboardInterrupt):
        watch.look(1.0)
    [sent] = ops.got
    watch.resign()
    next_ops = Kept()
    successor = Watch(open_again(), "successor", next_ops)
    for _ in range(3):
        successor.look(15.0)
    [again] = next_ops.got
    assert (again.key, again.state, again.since_us) == (sent.key, "firing", sent.since_us)


def test_a_leader_killed_between_storing_and_sending_is_made_up_for(
    watch: Watch, open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(watch)

    async def dies(messages: object, heard: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch.duty.alerting.sending, "send", dies)
    with pytest.raises(KeyboardInterrupt):
        watch.look(1.0)
    watch.resign()
    ops = Kept()
    Watch(open_again(), "successor", ops).look(1.0)
    assert ops.said() == [FIRES]


def test_what_was_resolved_before_anybody_knew_whether_it_arrived_is_told_as_over(watch: Watch, ops: Kept) -> None:
    fail(watch)
    ops.broken = answered_500()
    for _ in range(10):
        watch.look(60.0)
    assert watch.rows()["final_failure", "task"].state == "resolved"
    ops.broken = None
    watch.look(15.0)
    assert ops.said() == [OVER]


# Sinks that fail


@pytest.mark.parametrize(
    "broken",
    [
        answered_500(),
        OutboundFailed("https://ops.example answered 302: redirects, which is not followed", 302),
        OutboundFailed("https://ops.example did not answer within 5s"),
        OSError("no route"),
        ZeroDivisionError("a sink that is broken"),
    ],
    ids=["500", "redirect", "slow", "down", "defect"],
)
def test_a_sink_that_fails_is_told_again_until_it_hears_and_holds_up_no_other(
    world: World, broken: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "penstock.alerts")
    good, bad = Kept("good"), Kept("bad", broken=broken)
    watch = Watch(world, "leader", bad, good)
    fail(watch)
    for _ in range(8):
        watch.look(15.0)
    assert good.said() == [FIRES]
    told = watch.rows()["final_failure", "task"].told["bad"]
    assert told.error is not None
    assert not told.arrived
    assert caplog.text.count("alerts do not arrive at bad") == 1
    bad.broken = None
    watch.look(15.0)
    watch.look(15.0)
    assert (good.said(), bad.said()) == ([], [FIRES])
    assert caplog.text.count("alerts arrive at bad again") == 1


def test_it_is_not_tried_for_ever(world: World, watch: Watch, ops: Kept) -> None:
    ops.broken = answered_500()
    world.add(type="film", capability="media")
    watch.look(1.0)
    for _ in range(26):
        watch.look(3600.0)
    ops.broken = None
    watch.look(15.0)
    [row] = watch.rows().values()
    assert row.told["ops"].given_up
    assert ops.said() == []


def test_a_sink_that_fails_is_not_tried_for_each_message(world: World) -> None:
    tried = []

    class Counting(Kept):
        def send(self, message: object) -> None:
            tried.append(message)
            raise OutboundFailed("https://ops.example answered 404", 404)

    watch = Watch(world, "leader", Counting())
    for number in range(10):
        fail(watch, type=f"type-{number}")
    watch.look(1.0)
    assert len(tried) == 1


def test_what_was_not_even_tried_counts_among_what_a_sink_does_not_hear_of(watch: Watch, ops: Kept) -> None:
    ops.broken = answered_500()
    for number in range(6):
        fail(watch, type=f"type-{number}")
    for _ in range(2):
        watch.look(1.0)
        assert unheard(watch.rows().values()) == {"ops": (6, "https://ops.example answered 500")}
    ops.broken = None
    watch.look(1.0)
    assert unheard(watch.rows().values()) == {}


def test_a_slow_sink_is_sent_no_more_in_a_round_than_fits(world: World) -> None:
    class Slow(Kept):
        def send(self, message: object) -> None:
            super().send(message)  # type: ignore[arg-type]
            world.clock.advance(4.0)

    slow = Slow()
    watch = Watch(world, "leader", slow)
    for number in range(10):
        fail(watch, type=f"type-{number}")
    watch.look(1.0)
    assert len(slow.got) == 6
    watch.look(1.0)
    assert len({one.scope for one in slow.got}) == len(slow.got) == 10


def test_a_new_sink_is_told_of_what_fires(world: World, watch: Watch, ops: Kept) -> None:
    fail(watch)
    watch.look(1.0)
    watch.resign()
    late = Kept("late")
    Watch(world, "next", ops, late).look(1.0)
    assert (len(ops.said()), late.said()) == (1, [FIRES])


# Bounds


def test_no_more_than_the_cap_are_told_in_an_hour_and_one_says_how_many_were_not(world: World, ops: Kept) -> None:
    watch = Watch(world, "leader", ops, cap_per_hour=3)
    for number in range(8):
        fail(watch, type=f"type-{number}")
    fail(watch, type="audit-export")
    watch.look(1.0)
    rules = [one.rule for one in ops.got]
    assert rules == ["critical_dead_letter", "final_failure", "final_failure", "alerts_held_back"]
    assert "6 alerts held back, of final_failure" in ops.got[-1].message
    ops.got.clear()
    for _ in range(5):
        for number in range(8):
            fail(watch, type=f"type-{number}")
        watch.look(200.0)
    assert [one.rule for one in ops.got if one.state == "firing"] == []
    for _ in range(16):
        for number in range(8):
            fail(watch, type=f"type-{number}")
        watch.look(200.0)
    told = ops.said()
    assert [rule for state, rule, _ in told if state == "firing"] == ["final_failure"] * 3


def test_what_is_critical_is_told_above_the_cap(world: World, ops: Kept) -> None:
    watch = Watch(world, "leader", ops, cap_per_hour=1)
    for number in range(3):
        fail(watch, type=f"type-{number}")
    watch.look(1.0)
    ops.got.clear()
    world.heartbeat(watch.session, "draining")
    watch.look(1.0, alive=False)
    watch.look(60.0, alive=False)
    assert ops.said() == [("firing", "no_active_workers", "store")]


def test_of_very_many_of_one_rule_most_are_one(world: World, ops: Kept) -> None:
    watch = Watch(world, "leader", ops, cap_per_hour=None)
    for number in range(60):
        fail(watch, type=f"type-{number}")
    watch.look(1.0)
    scopes = [one.scope for one in ops.got]
    assert len(scopes) == 50
    assert scopes.count("(others)") == 1
    assert "and 10 more like it" in next(one for one in ops.got if one.scope == "(others)").message


# Silences


def silence(world: World, seconds: float | None, scope: str | None = None) -> None:
    world.store.silence_alerts(p.SilenceAlerts(rule="final_failure", scope=scope, seconds=seconds)).wait()


def test_what_is_silenced_is_told_when_that_is_over_if_it_still_fires(world: World, watch: Watch, ops: Kept) -> None:
    silence(world, 120.0, "task")
    fail(watch)
    fail(watch, type="other")
    watch.look(1.0)
    assert ops.said() == [("firing", "final_failure", "other")]
    watch.look(60.0)
    assert ops.said() == []
    watch.look(60.0)
    assert ops.said() == [FIRES]


def test_the_end_of_what_was_told_before_is_told_in_a_silence_too(world: World, watch: Watch, ops: Kept) -> None:
    fail(watch)
    watch.look(1.0)
    silence(world, 3600.0)
    for _ in range(8):
        watch.look(60.0)
    assert ops.said() == [FIRES, OVER]


def test_what_fires_and_ends_in_a_silence_is_never_told(world: World, watch: Watch, ops: Kept) -> None:
    silence(world, 3600.0)
    fail(watch)
    for _ in range(8):
        watch.look(60.0)
    silence(world, None)
    watch.look(60.0)
    assert ops.said() == []


# Clocks


def test_a_clock_that_is_set_back_an_hour_repeats_nothing_and_stops_nothing(
    world: World, watch: Watch, ops: Kept
) -> None:
    fail(watch)
    watch.look(1.0)
    assert ops.said() == [FIRES]
    watch.look(-3600.0)
    world.add(type="film", capability="media")
    watch.look(1.0)
    assert ops.said() == []
    watch.look(59.0)
    watch.look(1.0)
    assert ops.said() == [OVER, ("firing", "unroutable_jobs", "film on default")]  # What failed lies ahead by now.
    watch.look(400.0)
    assert OVER not in ops.said()


def test_a_clock_that_is_set_forward_an_hour_repeats_nothing(world: World, watch: Watch, ops: Kept) -> None:
    fail(watch)
    watch.look(1.0)
    watch.look(3600.0)
    watch.look(QUIET)
    assert ops.said() == [FIRES, OVER]


# The outside watcher


def test_each_look_is_told_to_an_outside_watcher_who_may_be_away(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    watch = Watch(world, "leader", heartbeat_url="https://hc.example/x")
    watch.look()
    watch.look(15.0)
    assert watch.pinged == ["https://hc.example/x"] * 2
    watch.unreachable = OutboundFailed("https://hc.example answered 500", 500)
    watch.look(15.0)
    watch.look(15.0)
    watch.unreachable = None
    watch.look(15.0)
    assert caplog.text.count("does not take the heartbeat") == 1
    assert caplog.text.count("takes the heartbeat again") == 1


def test_a_rule_that_fails_leaves_the_others_alone(
    world: World, watch: Watch, ops: Kept, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from penstock.observe.alerts import rules

    def broken(*given: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(rules.JUDGED, "stale_jobs", broken)
    fail(watch)
    watch.look(1.0)
    watch.look(1.0)
    assert ops.said() == [FIRES]
    assert caplog.text.count("the rule stale_jobs of alerts failed") == 1


# Nobody leads


def unled(watch: Watch) -> Unled:
    return Unled(watch.world.store, AlertSettings(), watch.duty.alerting)


def test_of_all_who_see_that_nobody_leads_one_tells_it_and_the_next_leader_resolves_it(
    world: World, watch: Watch, ops: Kept, open_again: OpenAgain
) -> None:
    watch.resign()
    other_ops = Kept()
    other = Watch(open_again(), "other", other_ops)
    other.resign()
    both = [unled(watch), unled(other)]
    for seconds in (60.0, 61.0, 66.0, 71.0):
        for one in both:
            watch.run(lambda one=one, seconds=seconds: one.look(seconds))  # type: ignore[misc]
    said = ops.got + other_ops.got
    assert [(one.state, one.rule, one.severity) for one in said] == [("firing", "no_leader", "critical")]
    watch.lead()
    watch.look(1.0)
    watch.look(QUIET)
    assert (ops.got + other_ops.got)[-1].state == "resolved"


def test_who_does_not_reach_the_sink_leaves_it_to_others_after_a_minute(
    world: World, watch: Watch, ops: Kept, open_again: OpenAgain
) -> None:
    watch.resign()
    other_ops = Kept()
    other = Watch(open_again(), "other", other_ops)
    other.resign()
    ops.broken = answered_500()
    one, two = unled(watch), unled(other)
    watch.run(lambda: one.look(61.0))
    watch.run(lambda: two.look(61.0))
    assert other_ops.said() == []
    world.clock.advance(60.0)
    watch.run(lambda: two.look(121.0))
    assert other_ops.said() == [("firing", "no_leader", "store")]


def test_while_the_store_is_away_only_the_log_has_it_once(
    watch: Watch, ops: Kept, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> None:
        raise StoreUnavailable("the server does not answer")

    one = unled(watch)
    monkeypatch.setattr(watch.world.store, "read_alerts", away)
    for seconds in (61.0, 66.0, 0.0, 61.0):
        watch.run(lambda seconds=seconds: one.look(seconds))  # type: ignore[misc]
    assert ops.got == []
    assert caplog.text.count("nobody leads") == 2


def test_a_page_of_counts_is_enough_to_fire(world: World, watch: Watch, ops: Kept) -> None:
    """Before anything is folded."""
    counted(world, "a", dead=1)
    watch.look(1.0)
    assert ops.said() == [("firing", "final_failure", "mail")]
