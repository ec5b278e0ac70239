"""Running and ending attempts: every write is fenced by its token."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.domain.clock import from_us
from penstock.domain.errors import PenstockError
from penstock.domain.job import FINAL, ErrorInfo, Event, Progress, State
from penstock.store.contract import Claim, Completed, FinishJobs, SaveProgress, StartJobs, Unfinished
from tests.contract.world import NOT_STORABLE_AT, World, error_text

ENDINGS = [Event.COMPLETE, Event.BACK_OFF, Event.RELEASE, Event.FAIL, Event.CANCEL]


def finish(world: World, claim: Claim, event: Event, **fields: Any) -> list[int]:
    return world.complete(claim) if event is Event.COMPLETE else world.end(claim, event, **fields)


# Start and progress


def test_started_jobs_are_running(world: World, session: int) -> None:
    job_id, waiting = world.add_many(2)
    first, second = world.claim(session)
    world.clock.advance(1)
    assert world.start(first) == []
    job = world.read(job_id)
    assert (job.state, job.started_at) == (State.RUNNING, from_us(world.clock.now_us()))
    assert world.state(waiting) is State.CLAIMED
    lost = second.token + 1000
    assert world.store.start_jobs(StartJobs([(lost, 1), (second.token, 2)])).wait() == [lost]
    assert world.state(waiting) is State.RUNNING


def test_the_newest_progress_is_stored(world: World, session: int) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    world.start(claim)
    assert world.progress(claim, '{"percent":10}') == []
    assert world.progress(claim, '{"percent":50,"phase":"half"}') == []
    assert world.read(job_id).progress == Progress(50, "half")
    lost = claim.token + 1
    progress = SaveProgress([(lost, "{}"), (claim.token, '{"percent":60}')])
    assert world.store.save_progress(progress).wait() == [lost]
    assert world.read(job_id).progress == Progress(60)


def test_progress_survives_the_end_unless_a_last_one_is_given(world: World, session: int) -> None:
    kept, replaced, failed = world.add_many(3)
    claims = world.claim(session)
    for claim in claims:
        world.progress(claim, '{"percent":50}')
    world.complete(claims[0])
    world.complete(claims[1], progress='{"percent":100}')
    world.end(claims[2], Event.FAIL)
    found = [world.read(job_id).progress for job_id in (kept, replaced, failed)]
    assert found == [Progress(50), Progress(100), Progress(50)]


@pytest.mark.parametrize("event", [Event.FAIL, Event.CANCEL])
def test_the_last_progress_of_a_failed_attempt_is_kept(world: World, session: int, event: Event) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    world.progress(claim, '{"percent":50}')
    world.end(claim, event, progress='{"percent":70,"phase":"last"}')
    assert world.read(job_id).progress == Progress(70, "last")


def test_the_next_attempt_begins_without_progress(world: World, session: int) -> None:
    job_id = world.add()
    world.end(world.claim_one(session), Event.BACK_OFF, progress='{"percent":70}')
    world.start(world.claim_one(session))
    assert world.read(job_id).progress is None


# Ends


def test_completed(world: World, session: int) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    claimed_at = world.clock.now_us()
    world.clock.advance(1)
    started_at = world.clock.now_us()
    world.clock.advance(2)
    done = Completed(claim.token, started_at, result='{"answer":42}')
    assert world.store.finish_jobs(FinishJobs(completed=[done])).wait().lost == []
    job = world.read(job_id)
    assert (job.state, job.result, job.attempt, job.decided_by) == (State.COMPLETED, {"answer": 42}, 1, "worker")
    assert (job.claimed_at, job.started_at) == (from_us(claimed_at), from_us(started_at))
    assert (job.finished_at, job.worker_id) == (from_us(world.clock.now_us()), "worker")


def test_a_result_that_is_not_json_reads_as_its_text(world: World, session: int) -> None:
    job_id = world.add()
    world.complete(world.claim_one(session), result="{oops")
    assert world.read(job_id).result == "{oops"


def test_dead(world: World, session: int) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    world.start(claim)
    assert world.end(claim, Event.FAIL, error=error_text("no"), reason="all 3 attempts used") == []
    job = world.read(job_id)
    assert (job.state, job.attempt, job.crashes, job.decided_by) == (State.DEAD, 1, 0, "worker")
    assert (job.error, job.reason) == (ErrorInfo("ValueError", "no"), "all 3 attempts used")
    assert job.started_at is not None


def test_back_off_waits_with_the_attempt_spent(world: World, session: int) -> None:
    job_id = world.add()
    world.end(world.claim_one(session), Event.BACK_OFF, delay=5.0, error=error_text("first"))
    job = world.read(job_id)
    assert (job.state, job.attempt, job.error) == (State.SCHEDULED, 1, ErrorInfo("ValueError", "first"))
    world.clock.advance(4.9)
    assert world.claim(session) == []
    world.clock.advance(0.1)
    claim = world.claim_one(session)
    assert (claim.id, claim.attempt) == (job_id, 2)


@pytest.mark.parametrize("event", [Event.FAIL, Event.BACK_OFF])
def test_an_attempt_that_took_its_process_along_is_counted_apart(world: World, session: int, event: Event) -> None:
    job_id = world.add()
    world.end(world.claim_one(session), event, error=error_text("died"), crash=True)
    assert (world.read(job_id).attempt, world.read(job_id).crashes) == (1, 1)
    if event is Event.BACK_OFF:
        claim = world.claim_one(session)
        assert (claim.attempt, claim.crashes) == (2, 1)
        world.end(claim, event)
        assert (world.read(job_id).attempt, world.read(job_id).crashes) == (2, 1)


def test_release_gives_back_the_attempt(world: World, session: int) -> None:
    job_id = world.add()
    for _ in range(5):
        claim = world.claim_one(session)
        assert claim.attempt == 1
        world.start(claim)
        assert world.end(claim, Event.RELEASE) == []
        job = world.read(job_id)
        assert (job.state, job.attempt, job.crashes, job.started_at) == (State.PENDING, 0, 0, None)


def test_a_release_for_a_while(world: World, session: int) -> None:
    """It waits in the store so that others come first; what it had stays."""
    job_id = world.add()
    world.end(world.claim_one(session), Event.BACK_OFF, crash=True)
    world.end(world.claim_one(session), Event.RELEASE, delay=5.0)
    job = world.read(job_id)
    assert (job.state, job.attempt, job.crashes) == (State.SCHEDULED, 1, 1)
    assert world.claim(session) == []
    world.clock.advance(5.0)
    assert (world.claim_one(session).attempt, world.read(job_id).crashes) == (2, 1)


def test_a_cancelled_end(world: World, session: int) -> None:
    job_id = world.add()
    world.end(world.claim_one(session), Event.CANCEL, reason="asked to")
    job = world.read(job_id)
    assert (job.state, job.reason, job.decided_by) == (State.CANCELLED, "asked to", "operator")


@pytest.mark.parametrize("event", [Event.COMPLETE, Event.FAIL, Event.CANCEL])
def test_after_a_final_end_no_claim_returns_the_job(world: World, session: int, event: Event) -> None:
    job_id = world.add(ttl=5.0)
    finish(world, world.claim_one(session), event)
    world.clock.advance(10_000)
    world.heartbeat(session)
    assert world.claim(session) == []
    world.recover()
    assert world.claim(session) == []
    assert world.state(job_id) in FINAL


def test_many_outcomes_of_all_kinds_in_one_call(world: World, session: int) -> None:
    ids = world.add_many(5)
    one, two, three, four, five = world.claim(session)
    params = FinishJobs(
        completed=[Completed(one.token, 0), Completed(two.token, 0, keep=False)],
        unfinished=[
            Unfinished(token=three.token, event=Event.FAIL),
            Unfinished(token=four.token, event=Event.BACK_OFF, delay=1.0),
            Unfinished(token=five.token, event=Event.RELEASE),
        ],
    )
    assert world.store.finish_jobs(params).wait().lost == []
    assert world.find(ids[1]) is None
    states = [world.state(job_id) for job_id in (ids[0], *ids[2:])]
    assert states == [State.COMPLETED, State.DEAD, State.SCHEDULED, State.PENDING]


# The fence


@pytest.mark.parametrize("first", ENDINGS)
@pytest.mark.parametrize("second", ENDINGS)
def test_a_token_ends_once(world: World, session: int, first: Event, second: Event) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    assert finish(world, claim, first) == []
    before, steps = world.read(job_id), world.events(job_id)
    assert finish(world, claim, second) == [claim.token]
    assert world.start(claim) == [claim.token]
    assert world.progress(claim, '{"percent":99}') == [claim.token]
    assert (world.read(job_id), world.events(job_id)) == (before, steps)


@pytest.mark.parametrize("event", ENDINGS)
def test_a_stale_token_does_not_touch_the_next_attempt(world: World, session: int, event: Event) -> None:
    job_id = world.add()
    old = world.claim_one(session)
    world.end(old, Event.RELEASE)
    new = world.claim_one(session)
    assert new.token > old.token
    world.start(new)
    before = world.read(job_id)
    assert world.start(old) == [old.token]
    assert world.progress(old, '{"percent":1}') == [old.token]
    assert finish(world, old, event, error=error_text("zombie")) == [old.token]
    assert world.read(job_id) == before
    assert world.complete(new) == []
    assert world.state(job_id) is State.COMPLETED


@pytest.mark.parametrize("keep", [True, False, 1])
def test_the_others_in_a_call_are_unaffected_by_a_lost_one(world: World, session: int, keep: bool | int) -> None:
    lost_id, done_id, dead_id = world.add_many(3)
    lost, done, dead = world.claim(session)
    world.end(lost, Event.RELEASE)
    params = FinishJobs(
        completed=[Completed(lost.token, 0, keep=keep), Completed(done.token, 0)],
        unfinished=[
            Unfinished(token=dead.token, event=Event.FAIL),
            Unfinished(token=10**12, event=Event.FAIL, keep=keep),
        ],
    )
    assert set(world.store.finish_jobs(params).wait().lost) == {lost.token, 10**12}
    assert [world.state(job_id) for job_id in (lost_id, done_id, dead_id)] == [
        State.PENDING,
        State.COMPLETED,
        State.DEAD,
    ]


def test_a_job_removed_while_it_ran_is_only_a_lost_token(world: World, session: int) -> None:
    job_id = world.add(policy='{"a":1,"rf":true}')
    claim = world.claim_one(session)
    world.clock.advance(31)
    assert world.recover().jobs == [job_id]
    assert world.find(job_id) is None
    assert world.start(claim) == [claim.token]
    assert world.progress(claim, "{}") == [claim.token]
    assert world.complete(claim, history="all") == [claim.token]
    assert world.end(claim, Event.FAIL) == [claim.token]
    assert world.list_ids() == []


# Follow-ups


def test_follow_ups_are_stored_with_the_completion(world: World, session: int) -> None:
    parent = world.add()
    claim = world.claim_one(session)
    follow_up = world.new_job(parent=parent, delay=5.0)
    params = FinishJobs(completed=[Completed(claim.token, 0)], follow_ups=[(claim.token, follow_up)])
    assert world.store.finish_jobs(params).wait().lost == []
    job = world.read(follow_up.id)
    assert (job.state, job.parent) == (State.SCHEDULED, parent)


def test_follow_ups_of_a_lost_token_are_not_stored(world: World, session: int) -> None:
    world.add_many(2)
    lost, current = world.claim(session)
    world.end(lost, Event.RELEASE)
    of_lost, of_current = world.new_job(), world.new_job()
    params = FinishJobs(
        completed=[Completed(lost.token, 0), Completed(current.token, 0)],
        follow_ups=[(lost.token, of_lost), (current.token, of_current)],
    )
    assert world.store.finish_jobs(params).wait().lost == [lost.token]
    assert world.find(of_lost.id) is None
    assert world.state(of_current.id) is State.PENDING


def test_follow_ups_of_a_cancelled_job_are_not_stored(world: World, session: int) -> None:
    cancelled_id, done_id = world.add_many(2)
    cancelled, done = world.claim(session)
    of_cancelled, of_done = world.new_job(parent=cancelled_id), world.new_job(parent=done_id)
    world.cancel(cancelled_id)
    params = FinishJobs(
        completed=[Completed(cancelled.token, 0), Completed(done.token, 0)],
        follow_ups=[(cancelled.token, of_cancelled), (done.token, of_done)],
    )
    assert world.store.finish_jobs(params).wait().lost == []
    assert world.state(cancelled_id) is State.CANCELLED
    assert world.find(of_cancelled.id) is None
    assert world.state(of_done.id) is State.PENDING


def test_a_follow_up_that_cannot_be_stored_stores_nothing_of_the_call(world: World, session: int) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    params = FinishJobs(
        completed=[Completed(claim.token, 0)], follow_ups=[(claim.token, world.new_job(at=NOT_STORABLE_AT))]
    )
    with pytest.raises((PenstockError, OverflowError)):
        world.store.finish_jobs(params).wait()
    assert world.state(job_id) is State.CLAIMED
    assert world.complete(claim) == []
