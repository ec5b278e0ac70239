"""Every rule of alerts, seen in a store: it fires once, is resolved once, and stays silent where nothing is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from penstock.domain.options import Tenant
from penstock.observe.alerts.catalogue import HELD_BACK, NO_LEADER, RULES, SCOPES, check_scope
from penstock.observe.alerts.settings import RuleSettings
from penstock.store import contract as p
from tests.contract.alerts.watch import QUIET, Kept, Watch, counted, sampled
from tests.contract.world import World, policy_text


@pytest.fixture
def ops() -> Kept:
    return Kept()


@pytest.fixture
def watch(world: World, ops: Kept) -> Watch:
    return Watch(world, "leader", ops)


def resolves(watch: Watch, ops: Kept, rule: str, scope: str) -> None:
    """It is told once that it is over, when it has been so for a while."""
    watch.look(1.0)
    watch.look(QUIET - 2)
    assert ops.said() == []
    watch.look(2.0)
    assert ops.said() == [("resolved", rule, scope)]
    watch.look(QUIET)
    assert ops.said() == []


def test_nothing_is_told_of_a_store_where_nothing_is_wrong(world: World, watch: Watch, ops: Kept) -> None:
    sampled(world, dead=100)
    world.add_many(3)
    world.complete(*world.claim(watch.session, 2))
    counted(world, "a", timeout=10, completed=5)
    for _ in range(20):
        watch.look(15.0)
    assert ops.got == []
    assert watch.rows() == {}


def test_many_timeouts(world: World, watch: Watch, ops: Kept) -> None:
    counted(world, "a", timeout=11)
    watch.look()
    assert ops.said() == []
    counted(world, "b", timeout=20)
    watch.look(60.0)
    [message] = ops.got
    assert ops.said() == [("firing", "high_timeout_rate", "store")]
    assert (message.severity, message.value, message.tags) == ("warning", 31, {"type": "mail"})
    assert "mail (31)" in message.message
    world.clock.advance(120.0)
    resolves(watch, ops, "high_timeout_rate", "store")


def test_no_active_worker_says_what_waits(world: World, watch: Watch, ops: Kept) -> None:
    world.add_many(3)
    world.heartbeat(watch.session, "draining")
    watch.look(5.0, alive=False)
    watch.look(59.0, alive=False)
    assert ops.said() == []
    watch.look(1.0, alive=False)
    [message] = ops.got
    assert ops.said() == [("firing", "no_active_workers", "store")]
    assert (message.severity, message.value) == ("critical", 3)
    assert "3 jobs waiting, the oldest for 1m5s" in message.message
    world.register("new")
    watch.look(1.0, alive=False)
    for _ in range(3):
        world.heartbeat(world.store.list_workers().wait()[0].session)
        watch.look(25.0, alive=False)
    assert ops.said() == [("resolved", "no_active_workers", "store")]


def test_dead_letters_build_up(world: World, watch: Watch, ops: Kept) -> None:
    sampled(world, dead=101)
    watch.look()
    [message] = ops.got
    assert ops.said() == [("firing", "dead_letter_buildup", "store")]
    assert (message.severity, message.value) == ("warning", 101)
    watch.look(3600.0)  # The sample is too old by now to tell that it is over.
    assert ops.said() == []
    sampled(world, dead=1)

    resolves(watch, ops, "dead_letter_buildup", "store")


def test_claimed_jobs_that_do_not_begin(world: World, watch: Watch, ops: Kept) -> None:
    job = world.add(type="mail")
    [claim] = world.claim(watch.session)
    watch.look(299.0)
    assert ops.said() == []
    watch.look(1.0)
    [message] = ops.got
    assert ops.said() == [("firing", "stale_jobs", "store")]
    assert (message.severity, message.tags) == ("warning", {"type": "mail", "job_id": job, "worker": "leader"})
    world.start(claim)
    world.complete(claim)
    resolves(watch, ops, "stale_jobs", "store")


def test_jobs_that_were_given_back_because_they_did_not_begin(world: World, watch: Watch, ops: Kept) -> None:
    world.add()
    world.claim(watch.session)
    world.clock.advance(300)
    world.heartbeat(watch.session)
    world.store.give_back_jobs(p.GiveBackJobs(300.0)).wait()
    watch.look()
    assert ops.said() == [("firing", "stale_jobs", "store")]


def test_a_final_failure_names_the_job(world: World, watch: Watch, ops: Kept) -> None:
    job = world.add_dead(watch.session, "broken", type="mail", tenant=Tenant("acme"))
    counted(world, "a", failed=1, dead=1)
    watch.look(1.0)
    [message] = ops.got
    assert ops.said() == [("firing", "final_failure", "mail")]
    assert (message.severity, message.title) == ("warning", "Worker mail final failure")
    assert f"job {job} failed for good after 1 attempt: ValueError: broken" in message.message
    assert message.tags == {"type": "mail", "job_id": job, "tenant": "acme"}
    world.add_dead(watch.session, "again", type="mail")
    watch.look(15.0)
    assert ops.said() == []
    world.clock.advance(420.0)
    resolves(watch, ops, "final_failure", "mail")


def test_what_lies_ahead_since_the_clock_was_set_back_fires_nothing_and_ends(
    world: World, watch: Watch, ops: Kept
) -> None:
    """An hour of failures ahead was told when it happened: it is not what is wrong now."""
    world.add_dead(watch.session, "broken", type="mail")
    counted(world, "a", failed=1, dead=1)
    watch.look(1.0)
    assert ops.said() == [("firing", "final_failure", "mail")]
    world.clock.advance(-3600.0)
    world.heartbeat(watch.session)
    resolves(watch, ops, "final_failure", "mail")


def test_attempts_that_are_tried_again_are_no_final_failure(world: World, watch: Watch, ops: Kept) -> None:
    counted(world, "a", failed=5, retried=5)
    watch.look(1.0)
    assert ops.said() == []


def test_a_job_that_is_removed_when_it_fails_is_told_all_the_same(world: World, watch: Watch, ops: Kept) -> None:
    counted(world, "a", failed=2, dead=2)
    watch.look(1.0)
    [message] = ops.got
    assert ops.said() == [("firing", "final_failure", "mail")]
    assert "2 jobs in the last 5m failed for good" in message.message
    assert message.tags == {"type": "mail"}


def test_critical_types_are_told_as_high_and_once(world: World, watch: Watch, ops: Kept) -> None:
    world.add_dead(watch.session, type="data-deletion")
    watch.look(1.0)
    [message] = ops.got
    assert ops.said() == [("firing", "critical_dead_letter", "data-deletion")]
    assert (message.severity, message.title) == ("high", "Worker data-deletion final failure")
    world.clock.advance(420.0)
    resolves(watch, ops, "critical_dead_letter", "data-deletion")


def test_which_types_are_critical_is_said_by_the_config(world: World, ops: Kept) -> None:
    watch = Watch(world, "leader", ops, critical_types=("mail",))
    world.add_dead(watch.session, type="data-deletion")
    world.add_dead(watch.session, type="mail")
    watch.look(1.0)
    assert sorted(ops.said()) == [
        ("firing", "critical_dead_letter", "mail"), ("firing", "final_failure", "data-deletion"),
    ]  # fmt: skip


def scheduled(world: World, name: str) -> None:
    now = world.clock.now_us()
    row = p.ScheduleRow(
        name=name, plan="{}", status="active", next_at=now, fires=0, anchor=now, created_at=now, changed_at=now,
        changed_by="test", revision=0,
    )  # fmt: skip
    world.store.change_schedules(p.ChangeSchedules([p.ScheduleChange(name, row, None)])).wait()


def test_a_schedule_that_is_overdue(world: World, watch: Watch, ops: Kept) -> None:
    scheduled(world, "nightly")
    watch.look(60.0)
    assert ops.said() == []
    watch.look(1.0)
    [message] = ops.got
    assert ops.said() == [("firing", "missed_schedule", "nightly")]
    assert (message.severity, message.tags) == ("warning", {"schedule": "nightly"})
    [row] = world.store.read_schedules(p.ReadSchedules()).wait().schedules
    fired = msgspec.structs.replace(row, next_at=world.clock.now_us() + 10**12)
    world.store.change_schedules(p.ChangeSchedules([p.ScheduleChange(row.name, fired, row.revision)])).wait()
    resolves(watch, ops, "missed_schedule", "nightly")


def test_a_schedule_that_was_missed_and_is_not_overdue_any_more(world: World, watch: Watch, ops: Kept) -> None:
    async def missed() -> None:
        watch.duty.missed({"nightly": 3})
        await watch.duty.do(watch.term)

    watch.run(missed)
    [message] = ops.got
    assert "it was missed 3 times" in message.message


def test_jobs_that_no_worker_can_run(world: World, watch: Watch, ops: Kept) -> None:
    world.add(type="film", capability="media")
    watch.look()
    watch.look(59.0)
    assert ops.said() == []
    watch.look(1.0)
    [message] = ops.got
    assert ops.said() == [("firing", "unroutable_jobs", "film on default")]
    assert "none has the capability 'media'" in message.message
    assert message.tags == {"type": "film", "queue": "default", "capability": "media"}
    world.pause("queue", "default")
    resolves(watch, ops, "unroutable_jobs", "film on default")


def test_jobs_that_no_worker_can_run_still_cannot_be_when_the_last_worker_goes(
    world: World, watch: Watch, ops: Kept
) -> None:
    film = world.add(type="film", capability="media")
    world.add(type="mail")
    watch.look()
    watch.look(60.0)
    assert ops.said() == [("firing", "unroutable_jobs", "film on default")]
    world.heartbeat(watch.session, "draining")
    for _ in range(10):
        watch.look(60.0, alive=False)
    assert ops.said() == [("firing", "no_active_workers", "store")]
    world.cancel(film)
    for _ in range(2):
        watch.look(QUIET, alive=False)
    assert ops.said() == [("resolved", "unroutable_jobs", "film on default")]


def test_runs_that_last_for_too_long(world: World, watch: Watch, ops: Kept) -> None:
    world.add(type="endless", policy=policy_text(timeout=None))
    job = world.add(type="stuck", policy=policy_text(timeout=30.0))
    claims = world.claim(watch.session)
    world.start(*claims)
    watch.look(90.0)
    assert ops.said() == []
    watch.look(1.0)
    [message] = ops.got
    assert ops.said() == [("firing", "overlong_run", "stuck")]
    assert f"{job} of type 'stuck' at worker leader has run for 1m31s, which is past its timeout" in message.message
    world.complete(*(claim for claim in claims if claim.id == job))
    resolves(watch, ops, "overlong_run", "stuck")
    watch.look(86400.0)
    assert ops.said() == [("firing", "overlong_run", "endless")]


def test_a_store_that_fills_its_disk(world: World, ops: Kept) -> None:
    """Where the engine knows how much room there is."""
    watch = Watch(world, "leader", ops, rules={"store_filling": RuleSettings(threshold=2.0**80)})
    watch.look()
    knows = world.store.read_room().wait() is not None
    assert ops.said() == ([("firing", "store_filling", "store")] if knows else [])
    watch.resign()
    watch = Watch(world, "other", ops, rules={"store_filling": RuleSettings(threshold=1.0)})
    watch.look(1.0)
    watch.look(QUIET)
    assert ops.said() == ([("resolved", "store_filling", "store")] if knows else [])


def test_figures_that_nobody_counts_or_folds(world: World, ops: Kept) -> None:
    watch = Watch(world, "leader", ops, rules={"figures_behind": RuleSettings(threshold=600.0, hold=60.0)})
    watch.look()
    watch.look(60.0)
    assert ops.said() == [("firing", "figures_behind", "sample")]
    counted(world, "a", completed=1)
    for _ in range(3):
        sampled(world)
        watch.look(300.0)
    assert ops.said() == [("resolved", "figures_behind", "sample")]
    sampled(world)
    watch.look(60.0)
    assert ops.said() == [("firing", "figures_behind", "pages")]
    world.store.fold_figures(p.FoldFigures()).wait()
    resolves(watch, ops, "figures_behind", "pages")


def test_a_rule_that_is_off_says_nothing_and_resolves_what_it_said(world: World, ops: Kept) -> None:
    first = Watch(world, "leader", ops)
    world.add_dead(first.session)
    first.look(1.0)
    assert ops.said() == [("firing", "final_failure", "task")]
    first.resign()
    second = Watch(world, "next", ops, rules={"final_failure": RuleSettings(on=False)})
    second.look(1.0)
    second.look(QUIET)
    assert ops.said() == [("resolved", "final_failure", "task")]


def test_the_scopes_of_a_rule_that_are_fixed_are_those_that_it_has() -> None:
    """All that is tried here fires with one of them."""
    tried = re.findall(r'"firing", "(\w+)", "([^"]+)"', Path(__file__).read_text(encoding="utf-8"))
    assert {rule for rule, _ in tried} >= set(RULES) - {NO_LEADER, HELD_BACK}
    for rule, scope in tried:
        assert check_scope(rule, scope) == scope
        assert (rule in SCOPES) == (scope in ("store", "sample", "pages"))


def test_every_rule_of_the_catalogue_is_tried_here_or_where_nobody_leads() -> None:
    tried = Path(__file__).read_text(encoding="utf-8")
    assert [rule for rule in RULES if f'"{rule}"' not in tried] == [NO_LEADER, HELD_BACK]
