"""Who is alive: registration, heartbeats, signals, and taking back the jobs of those who are not."""

from __future__ import annotations

import pytest

from penstock.domain.clock import from_us
from penstock.domain.errors import WorkerRefused
from penstock.domain.job import Event, State
from penstock.domain.options import NO_RESOURCES, Backoff, Options, Policy, Resources
from penstock.store.contract import ReadSignals, RecoverJobs, Signals
from tests.contract.conftest import OpenAgain
from tests.contract.world import World, policy_text

# Registration


def test_a_registered_worker_is_listed(world: World) -> None:
    first = world.register("first", host="h1", pid=11, version="1.2", slots=3)
    world.clock.advance(1)
    world.register("second", queues=("q",), capabilities=("ml",), resources=Resources(gpu=1), bell=5)
    world.add_many(2)
    world.claim(first)
    newest, oldest = world.store.list_workers().wait()
    assert (newest.id, oldest.id) == ("second", "first")
    assert (oldest.host, oldest.pid, oldest.version, oldest.slots) == ("h1", 11, "1.2", 3)
    assert (oldest.status, oldest.jobs, newest.jobs) == ("active", 2, 0)
    assert newest.started_at == newest.heartbeat_at == world.clock.now_us()
    assert oldest.started_at == world.clock.now_us() - 1_000_000


def test_a_worker_is_listed_with_what_it_takes(world: World) -> None:
    limited = {"types": ("mail", "a"), "queues": ("q",), "capabilities": ("ml", "general")}
    world.register("limited", resources=Resources(cpu=2, memory="1Gi", gpu=1), declared={"b": Options()}, **limited)
    world.register("open")
    opened, found = world.store.list_workers().wait()
    assert (found.types, found.queues, found.capabilities) == (("a", "mail"), ("q",), ("ml", "general"))
    assert found.resources == Resources(cpu=2, memory=2**30, gpu=1)
    assert (opened.types, opened.queues, opened.capabilities, opened.resources) == (None, None, ("general",), None)
    assert list(world.store.read_types().wait()) == ["b"]


def test_what_the_jobs_of_a_worker_need_is_told(world: World) -> None:
    has = Resources(cpu=8, memory="16Gi", gpu=1)
    session = world.register(resources=has)
    world.add(resources=Resources(cpu=1.5, memory="4Gi"))
    world.add(resources=Resources(cpu=2, gpu=1))
    world.add()
    claims = world.claim(session, resources=has)
    (worker,) = world.store.list_workers().wait()
    assert (worker.jobs, worker.used) == (3, Resources(cpu=3.5, memory="4Gi", gpu=1))
    world.complete(*claims)
    (worker,) = world.store.list_workers().wait()
    assert (worker.jobs, worker.used) == (0, NO_RESOURCES)


def test_silence_is_measured_by_the_clock_of_the_store(world: World, session: int) -> None:
    world.clock.advance(12.5)
    (worker,) = world.store.list_workers().wait()
    assert (worker.silent, worker.stale_after, worker.live, worker.stale) == (12.5, 30.0, True, False)
    world.clock.advance(20)
    (worker,) = world.store.list_workers().wait()
    assert (worker.silent, worker.live, worker.stale) == (32.5, False, True)
    world.recover()
    (worker,) = world.store.list_workers().wait()
    assert (worker.status, worker.live, worker.stale) == ("lost", False, False)


def test_a_worker_that_lives_is_listed_whatever_has_ended_since(world: World, session: int) -> None:
    for number in range(1010):
        world.heartbeat(world.register(f"brief{number}"), "inactive")
    listed = world.store.list_workers().wait()
    assert (listed[0].id, listed[-1].id, len(listed)) == ("brief1009", "worker", 1001)


def test_a_live_worker_keeps_its_id(world: World, open_again: OpenAgain) -> None:
    session = world.register("same")
    world.clock.advance(29)
    with pytest.raises(WorkerRefused, match="same"):
        open_again().register("same")
    assert world.heartbeat(session)
    world.clock.advance(29)
    with pytest.raises(WorkerRefused):
        world.register("same")


def test_a_stale_worker_is_declared_lost_and_its_jobs_recovered_first(world: World) -> None:
    old = world.register("same")
    job_ids = world.add_many(3)
    claims = world.claim(old)
    world.clock.advance(31)
    new = world.register("same")
    assert new > old
    assert not world.heartbeat(old)
    assert world.complete(*claims) == [claim.token for claim in claims]
    assert [(world.state(job_id), world.read(job_id).crashes) for job_id in job_ids] == [(State.SCHEDULED, 1)] * 3
    assert [worker.status for worker in world.store.list_workers().wait()] == ["active", "lost"]
    world.clock.advance(5)
    assert [claim.id for claim in world.claim(new)] == job_ids


def test_a_worker_is_judged_by_its_own_patience(world: World) -> None:
    slow = world.register("slow", stale_after=300)
    job_id = world.add()
    world.claim_one(slow)
    world.clock.advance(299)
    with pytest.raises(WorkerRefused):
        world.register("slow")
    assert (world.recover().workers, world.state(job_id)) == ([], State.CLAIMED)
    world.clock.advance(2)
    assert (world.recover().workers, world.state(job_id)) == (["slow"], State.SCHEDULED)


def test_an_id_is_free_after_an_orderly_stop(world: World) -> None:
    world.heartbeat(world.register("same"), "inactive")
    assert world.register("same")


def test_declared_types_are_remembered_and_renewed(world: World, open_again: OpenAgain) -> None:
    assert world.store.read_types().wait() == {}
    mail = Options(queue="mail", priority=5, policy=Policy(attempts=9, backoff=Backoff(1.0)))
    world.register("one", declared={"mail": mail, "other": Options()})
    assert open_again().store.read_types().wait() == {"mail": mail, "other": Options()}
    world.register("two", declared={"mail": Options()})
    assert world.store.read_types().wait() == {"mail": Options(), "other": Options()}


# Whoever has watched


def last_beats(world: World) -> dict[str, tuple[int, int]]:
    return {one.id: (one.session, one.heartbeat_at) for one in world.store.list_workers().wait()}


def test_whoever_has_watched_says_who_is_lost_whatever_the_clock_says(world: World) -> None:
    dead, quiet = world.register("dead"), world.register("quiet")
    job, kept = world.add(), world.add()
    world.claim_one(dead)
    world.claim_one(quiet)
    unheard = [last_beats(world)["dead"]]
    world.clock.advance(-3600)
    recovered = world.store.recover_jobs(RecoverJobs(30.0, unheard=unheard)).wait()
    assert (recovered.workers, recovered.jobs, world.state(job)) == (["dead"], [job], State.SCHEDULED)
    world.clock.advance(7200)
    assert world.store.recover_jobs(RecoverJobs(30.0, unheard=[])).wait().workers == []
    assert world.state(kept) is State.CLAIMED


def test_a_heartbeat_after_the_look_saves_its_worker(world: World, session: int) -> None:
    job = world.add()
    world.claim_one(session)
    unheard = list(last_beats(world).values())
    world.clock.advance(40)
    world.heartbeat(session)
    assert world.store.recover_jobs(RecoverJobs(30.0, unheard=unheard)).wait().workers == []
    assert world.state(job) is State.CLAIMED


def test_a_worker_that_knows_the_other_to_be_gone_takes_its_id_and_recovers_its_jobs(world: World) -> None:
    old = world.register("same", process="this very process")
    job = world.add()
    claim = world.claim_one(old)
    (listed,) = world.store.list_workers().wait()
    assert listed.process == "this very process"
    with pytest.raises(WorkerRefused):
        world.register("same", replaces=old + 1)
    new = world.register("same", replaces=old)
    assert not world.heartbeat(old)
    assert world.complete(claim) == [claim.token]
    assert (world.state(job), world.read(job).crashes) == (State.SCHEDULED, 1)
    assert [(one.session, one.status) for one in world.store.list_workers().wait()] == [(new, "active"), (old, "lost")]


def test_an_id_is_not_held_for_ever_by_a_clock_that_was_set_back(world: World) -> None:
    world.register("same")
    world.clock.advance(-20)
    with pytest.raises(WorkerRefused):
        world.register("same")
    world.clock.advance(-3600)
    assert world.register("same")


# Heartbeats


def test_a_heartbeat_is_stored_with_the_status(world: World, session: int) -> None:
    world.add()
    world.claim_one(session)
    world.clock.advance(7)
    assert world.heartbeat(session, "draining")
    (worker,) = world.store.list_workers().wait()
    assert (worker.status, worker.heartbeat_at) == ("draining", world.clock.now_us())
    assert world.read(world.list_ids()[0]).worker_heartbeat_at == from_us(world.clock.now_us())
    assert world.heartbeat(session, "active")


def test_a_lost_worker_stays_lost(world: World, session: int) -> None:
    world.clock.advance(31)
    world.recover()
    for _ in range(2):
        assert not world.heartbeat(session)
    assert world.store.list_workers().wait()[0].status == "lost"


def test_an_unknown_worker_is_not_known(world: World) -> None:
    assert not world.heartbeat(999)


# Signals


def test_signals_tell_what_was_cancelled_and_what_is_lost(world: World, session: int) -> None:
    world.add_many(3)
    first, second, third = world.claim(session)
    world.cancel(second.id)
    world.end(third, Event.RELEASE)
    tokens = [claim.token for claim in (first, second, third)]
    assert world.store.read_signals(ReadSignals(session, tokens)).wait() == Signals(
        [second.token], [third.token], "active", 10
    )
    assert world.store.read_signals(ReadSignals(77, [])).wait() == Signals([], [])


# Recovery


def test_only_stale_workers_lose_their_jobs(world: World, session: int) -> None:
    fresh = world.register("fresh")
    lost, kept = world.add_many(2)
    world.claim_one(session)
    world.claim_one(fresh)
    world.clock.advance(20)
    world.heartbeat(fresh)
    assert (world.recover().workers, world.recover().jobs) == ([], [])
    world.clock.advance(11)
    recovered = world.recover()
    assert (recovered.workers, recovered.jobs, recovered.more) == (["worker"], [lost], False)
    assert (world.state(lost), world.state(kept)) == (State.SCHEDULED, State.CLAIMED)


def test_a_recovered_job_is_scheduled_by_its_backoff(world: World, session: int) -> None:
    job_id = world.add(policy=policy_text(attempts=3, backoff=Backoff(7.0, 1.0, None)))
    world.start(world.claim_one(session))
    world.clock.advance(31)
    world.recover()
    job = world.read(job_id)
    assert (job.state, job.attempt, job.crashes) == (State.SCHEDULED, 1, 1)
    assert job.due_at == from_us(world.clock.now_us() + 7_000_000)
    assert job.error is not None
    assert job.error.type == "WorkerLost"
    (step,) = world.store.read_history(job_id).wait()
    assert (step.event, step.attempt, step.worker_id, step.reason) == ("recover", 1, "worker", "its worker was lost")


def test_a_job_that_kills_its_workers_is_dead_when_its_attempts_are_used(world: World) -> None:
    job_id = world.add(policy=policy_text(attempts=2))
    for number in (1, 2):
        session = world.register(f"victim{number}")
        claim = world.claim_one(session)
        assert (claim.attempt, claim.crashes) == (number, number - 1)
        world.clock.advance(31)
        assert world.recover().jobs == [job_id]
        world.clock.advance(3600)
    job = world.read(job_id)
    assert (job.state, job.decided_by, job.attempt, job.crashes) == (State.DEAD, "recovery", 2, 2)
    assert "lost" in (job.reason or "")
    assert world.claim(world.register("survivor")) == []


@pytest.mark.parametrize("rule", [True, 1])
def test_recovery_keeps_to_the_removal_rule(world: World, session: int, rule: bool | int) -> None:
    ids = world.add_many(3, policy=policy_text(attempts=1, remove_on_fail=rule))
    world.claim(session)
    world.clock.advance(31)
    world.recover()
    world.prune()
    assert world.list_ids() == ([] if rule is True else [ids[-1]])


def test_a_recovered_token_is_no_longer_current(world: World, session: int) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    world.clock.advance(31)
    world.recover()
    before = world.read(job_id)
    assert world.start(claim) == [claim.token]
    assert world.complete(claim) == [claim.token]
    assert world.store.read_signals(ReadSignals(session, [claim.token])).wait().lost == [claim.token]
    assert world.read(job_id) == before


def test_more_jobs_than_a_page_come_in_pages(world: World, session: int) -> None:
    other = world.register("other")
    ids = world.add_many(25)
    world.claim(session, 15)
    world.claim(other, 10)
    world.clock.advance(31)
    found: list[str] = []
    pages = 0
    more = True
    while more:
        page = world.recover(limit=10)
        assert len(page.jobs) <= 10
        found += page.jobs
        more = page.more
        pages += 1
    assert (sorted(found), pages <= 4) == (sorted(ids), True)
    assert world.recover().jobs == []


def test_a_large_re_registration_recovers_everything(world: World, session: int) -> None:
    world.add_many(2500)
    world.claim(session, 2500)
    world.clock.advance(31)
    world.register("worker")
    (count,) = world.store.count_jobs().wait()
    assert (count.state, count.jobs) == (State.SCHEDULED, 2500)


def test_the_jobs_of_a_worker_that_left_are_taken_back(world: World, session: int) -> None:
    job_id = world.add()
    world.claim_one(session)
    world.heartbeat(session, "inactive")
    assert world.recover().jobs == [job_id]


def test_a_cancelled_job_of_a_lost_worker_is_cancelled(world: World, session: int) -> None:
    job_id = world.add()
    world.claim_one(session)
    world.cancel(job_id)
    world.clock.advance(31)
    world.recover()
    assert world.state(job_id) is State.CANCELLED


def test_the_version_of_the_app_is_stored_with_worker_and_attempt(world: World) -> None:
    job = world.add(policy=policy_text(attempts=3))
    old = world.register("old", app_version="1.0")
    [claim] = world.claim(old)
    assert world.read(job).app_version == "1.0"
    world.end(claim, Event.BACK_OFF)
    assert world.read(job).app_version is None  # It is nobody's now.
    new = world.register("new", app_version="2.0 \U0001f600")
    world.complete(*world.claim(new))
    assert world.read(job).app_version == "2.0 \U0001f600"
    versions = {worker.id: worker.app_version for worker in world.store.list_workers().wait()}
    assert versions == {"old": "1.0", "new": "2.0 \U0001f600"}


def test_a_worker_that_names_no_version_has_none(world: World, session: int) -> None:
    job = world.add()
    world.complete(*world.claim(session))
    assert world.read(job).app_version is None
    assert [worker.app_version for worker in world.store.list_workers().wait()] == [None]


def test_the_version_outlives_the_row_of_its_worker(world: World) -> None:
    session = world.register("w", app_version="1.0")
    job = world.add_dead(session)
    world.heartbeat(session, "inactive")
    world.clock.advance(8 * 86400)
    world.prune(completed_after=7 * 86400.0)
    assert world.store.list_workers().wait() == []
    assert (world.read(job).worker_id, world.read(job).app_version) == (None, "1.0")
