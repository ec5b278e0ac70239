"""What is written down around a real store, and that it passes the rules."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from penstock.domain.errors import CommitUncertain, NotLeader, StoreUnavailable, UnknownJob, WorkerRefused
from penstock.domain.job import Event
from penstock.domain.options import Unique
from penstock.engines import open_store
from penstock.store import contract as p
from penstock.store.contract import SqlStore
from penstock.store.sqlite.connection.file import OpenFile
from tests.checker.check import check
from tests.checker.conftest import Recorded
from tests.checker.events import (
    ClaimTold,
    EnqueueAsked,
    EnqueueTold,
    Failure,
    FinishAsked,
    FlowAsked,
    JobAsked,
    JobClaimed,
    LeadTold,
    LostTold,
    Success,
    UniqueAsked,
)
from tests.checker.history import History
from tests.checker.recording import MemoryLog, RecordingStore
from tests.checker.rules import Bounds
from tests.checker.truth import Step, read_truth
from tests.checker.words import WORDS
from tests.contract.conftest import awaited, waited
from tests.contract.world import STALE_AFTER, policy_text
from tests.worker.fakes import Answer

PASSED_ON = {
    "transaction", "atransaction", "ended_attempts", "read_signals", "list_workers", "read_types", "read_limits",
    "listen", "read_job", "list_jobs", "count_jobs", "count_queues", "count_waiting", "read_history", "version",
    "list_pauses", "count_open", "drain_worker", "resize_worker", "list_dead", "address", "info", "read_clock",
    "read_schedules", "due_schedules", "check_store", "migration_status", "migration_script", "migrate", "close",
    "read_workflow", "list_workflows", "read_results", "count_dead", "fold_figures", "read_figures", "count_gauges",
    "count_ended", "store_sample", "read_sample", "read_capacity", "read_alerts", "change_alerts", "silence_alerts",
    "read_signs", "read_room",
}  # fmt: skip
"""What changes nothing that a rule looks at, or is recorded in another way."""


@pytest.fixture(params=[waited, awaited])
def carry_out(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = request.param
    return found


def promises_hold(recorded: Recorded) -> bool:
    return check(recorded.history, read_truth(recorded.bare)) is None


def test_every_method_of_the_contract_is_recorded_or_known_to_need_none() -> None:
    """A method that changes jobs and is not written down would make histories lie."""
    methods = {name for name, _ in inspect.getmembers(SqlStore) if not name.startswith("_")}
    assert methods == set(WORDS) | PASSED_ON
    assert not set(WORDS) & PASSED_ON


def test_a_job_from_its_enqueue_to_its_end(recorded: Recorded) -> None:
    job_id = recorded.add(policy=policy_text(attempts=5), unique=Unique("one", 60))
    session = recorded.register("alice")
    claim = recorded.claim_one(session)
    recorded.start(claim)
    recorded.progress(claim, "{}")
    recorded.complete(claim)
    assert recorded.told == [
        (op, phase)
        for op in ("enqueue", "register", "claim", "start", "progress", "finish")
        for phase in ("invoke", "ok")
    ]
    asked, stored, _, _, _, claimed, *_, finish, finished = recorded.history
    assert isinstance(asked, EnqueueAsked)
    assert asked.jobs == (JobAsked(id=job_id, max_attempts=5, unique=UniqueAsked("one", 60)),)
    assert isinstance(stored, EnqueueTold)
    assert (stored.created, stored.ids) == ((True,), (job_id,))
    assert isinstance(claimed, ClaimTold)
    assert claimed.jobs == (JobClaimed(job_id, claim.token, 1),)
    assert (claimed.session, claimed.claimed_at) == (session, recorded.clock.now_us())
    assert isinstance(finish, FinishAsked)
    assert finish.completed == (Success(job_id, claim.token),)
    assert isinstance(finished, LostTold)
    assert finished.lost == ()
    assert promises_hold(recorded)


def test_a_pause_and_its_end_are_written_down_and_hold(recorded: Recorded) -> None:
    recorded.add(queue="mail")
    session = recorded.register()
    recorded.pause("queue", "mail")
    assert recorded.claim(session) == []
    asked, _, _, _ = recorded.history[-4:]
    assert isinstance(asked, FlowAsked)
    assert (asked.op, asked.kind, asked.names) == ("pause_work", "queue", ("mail",))
    recorded.resume("queue", "mail")
    recorded.complete(recorded.claim_one(session))
    assert promises_hold(recorded)


def test_a_refused_token_is_told_and_breaks_no_promise(recorded: Recorded) -> None:
    job_id = recorded.add()
    old = recorded.claim_one(recorded.register("old"))
    recorded.clock.advance(STALE_AFTER + 1)
    assert recorded.recover().jobs == [job_id]
    recorded.clock.advance(60)
    new = recorded.claim_one(recorded.register("new"))
    assert recorded.end(old, Event.BACK_OFF, crash=True) == [old.token]
    asked, told = recorded.history[-2:]
    assert isinstance(asked, FinishAsked)
    assert asked.unfinished == (Failure(job_id, old.token, "back_off", crash=True),)
    assert isinstance(told, LostTold)
    assert told.lost == (old.token,)
    recorded.complete(new)
    assert promises_hold(recorded)


def test_the_same_history_with_the_refusal_left_out_breaks_one(recorded: Recorded) -> None:
    """As if the store had accepted the old token: that is what the checker is for."""
    test_a_refused_token_is_told_and_breaks_no_promise(recorded)
    forged = [
        LostTold(at=event.at, process=event.process, op=event.op, phase="ok", call=event.call)
        if isinstance(event, LostTold)
        else event
        for event in recorded.history
    ]
    found = check(forged, read_truth(recorded.bare))
    assert found is not None
    assert found.rule == "only the current token writes"


def test_operators_and_duties(recorded: Recorded) -> None:
    session = recorded.register()
    dead = recorded.add_dead(session)
    new = recorded.new_id()
    recorded.store.retry_dead(p.RetryDead(filter=p.DeadFilter(ids=(dead,)), new_ids=[new])).wait()
    recorded.cancel(new)
    recorded.store.lead_store(p.LeadStore(session, 10.0)).wait()
    recorded.store.recover_jobs(p.RecoverJobs(STALE_AFTER, term=1)).wait()
    with pytest.raises(NotLeader):
        recorded.store.recover_jobs(p.RecoverJobs(STALE_AFTER, term=7)).wait()
    history = History(recorded.history)
    assert [one.told.pairs for one in history.of("retry_dead")] == [((dead, new),)]
    assert [(one.told.before, one.told.after) for one in history.of("cancel")] == [("pending", "cancelled")]
    [lead] = history.of("lead")
    assert isinstance(lead.told, LeadTold)
    assert (lead.told.term, lead.told.acting) == (1, True)
    assert lead.told.until == pytest.approx(lead.begun + 10_000_000, abs=5)
    assert [(one.asked.term, one.asked.name) for one in history.of("duty")] == [(1, "recover_jobs")]
    assert recorded.told[-4:] == [("recover", "invoke"), ("duty", "invoke"), ("recover", "fail"), ("duty", "fail")]
    assert promises_hold(recorded)


def test_both_faces_of_a_call_are_recorded(recorded: Recorded, carry_out: Callable[[Any], Any]) -> None:
    carry_out(recorded.store.enqueue_jobs(p.EnqueueJobs([recorded.new_job()])))
    with pytest.raises(WorkerRefused):
        carry_out(recorded.store.claim_jobs(p.ClaimJobs(99, 1)))
    assert recorded.told == [("enqueue", "invoke"), ("enqueue", "ok"), ("claim", "invoke"), ("claim", "fail")]


def test_nothing_is_asked_before_the_call_is_used(recorded: Recorded) -> None:
    call = recorded.store.enqueue_jobs(p.EnqueueJobs([recorded.new_job()]))
    assert recorded.history == []
    call.wait()
    assert recorded.told == [("enqueue", "invoke"), ("enqueue", "ok")]


def test_what_only_reads_is_handed_on(recorded: Recorded) -> None:
    job_id = recorded.add()
    assert recorded.read(job_id).id == job_id
    assert recorded.store.address == recorded.bare.address
    assert recorded.store.info == recorded.bare.info
    assert recorded.told == [("enqueue", "invoke"), ("enqueue", "ok")]


# Errors


class Raises:
    """A store whose enqueues end with this error."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def enqueue_jobs(self, params: p.EnqueueJobs) -> Answer:
        def answer() -> None:
            raise self._error

        return Answer(answer)


@pytest.mark.parametrize(
    ("error", "phase"),
    [
        (StoreUnavailable("away"), "fail"),
        (UnknownJob("gone"), "fail"),
        (CommitUncertain("who knows"), "unknown"),
        (RuntimeError("a defect"), "unknown"),
        (KeyboardInterrupt(), "unknown"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_an_error_says_whether_anything_may_be_stored(error: BaseException, phase: str, recorded: Recorded) -> None:
    store: Any = RecordingStore(Raises(error), recorded.log)  # type: ignore[arg-type]
    with pytest.raises(type(error)):
        store.enqueue_jobs(p.EnqueueJobs([recorded.new_job()])).wait()
    assert recorded.told == [("enqueue", "invoke"), ("enqueue", phase)]


def test_a_caller_that_gives_up_never_hears_the_answer(recorded: Recorded) -> None:
    async def main() -> None:
        asking = asyncio.ensure_future(recorded.store.enqueue_jobs(p.EnqueueJobs([recorded.new_job()])))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()

    asyncio.run(main())
    assert recorded.told == [("enqueue", "invoke"), ("enqueue", "unknown")]
    either = Bounds(waiting=frozenset({"task"}))
    recorded.bare.close()  # Whatever was handed in is finished first.
    store = open_store(f"sqlite:///{recorded.bare.address}", clock=recorded.clock)
    assert check(recorded.history, read_truth(store), bounds=either) is None
    store.close()


# Transactions


def test_what_joins_a_transaction_is_answered_when_it_commits(recorded: Recorded) -> None:
    job = recorded.new_job()
    with recorded.store.transaction() as tx:
        recorded.store.enqueue_jobs(p.EnqueueJobs([job], tx)).wait()
        assert recorded.told == [("enqueue", "invoke")]
    assert recorded.told == [("enqueue", "invoke"), ("enqueue", "ok")]
    told = recorded.history[-1]
    assert isinstance(told, EnqueueTold)
    assert told.ids == (job.id,)


def test_a_finish_that_joins_a_transaction_is_answered_with_it(recorded: Recorded) -> None:
    recorded.add()
    claim = recorded.claim_one(recorded.register())

    async def main() -> None:
        async with recorded.store.atransaction() as tx:
            done = p.FinishJobs([p.Completed(claim.token, 0)], transaction=tx)
            await recorded.store.finish_jobs(done)
            assert recorded.told[-1] == ("finish", "invoke")

    asyncio.run(main())
    assert recorded.told[-1] == ("finish", "ok")
    assert promises_hold(recorded)


def test_a_transaction_that_is_rolled_back_has_stored_nothing(recorded: Recorded) -> None:
    def enqueue_and_fail() -> None:
        with recorded.store.transaction() as tx:
            recorded.store.enqueue_jobs(p.EnqueueJobs([recorded.new_job()], tx)).wait()
            raise RuntimeError("rolled back")

    with pytest.raises(RuntimeError, match="rolled back"):
        enqueue_and_fail()
    assert recorded.told == [("enqueue", "invoke"), ("enqueue", "fail")]
    assert promises_hold(recorded)


def test_a_commit_with_an_uncertain_end_is_unknown(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    def commit(self: OpenFile, tx: object) -> None:
        raise CommitUncertain("who knows")

    def enqueue_and_commit() -> None:
        with recorded.store.transaction() as tx:
            recorded.store.enqueue_jobs(p.EnqueueJobs([recorded.new_job()], tx)).wait()
            monkeypatch.setattr(OpenFile, "commit", commit)

    with pytest.raises(CommitUncertain):
        enqueue_and_commit()
    assert recorded.told == [("enqueue", "invoke"), ("enqueue", "unknown")]


def test_a_transaction_that_is_not_recorded_leaves_it_unknown(recorded: Recorded) -> None:
    with recorded.bare.transaction() as tx:
        recorded.store.enqueue_jobs(p.EnqueueJobs([recorded.new_job()], tx)).wait()
    assert recorded.told == [("enqueue", "invoke"), ("enqueue", "unknown")]


# The truth


def test_the_truth_is_what_the_store_shows(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.checker.truth.PAGE", 2)
    session = recorded.register()
    dead = recorded.add_dead(session)
    waiting = recorded.add_many(3)
    truth = read_truth(recorded.bare, [(dead, 1), (dead, 1, "charge")])
    assert sorted(job.id for job in truth.jobs) == sorted([dead, *waiting])
    assert truth.counts == {"dead": 1, "pending": 3}
    assert [(effect.job, effect.token, effect.key) for effect in truth.effects] == [(dead, 1, ""), (dead, 1, "charge")]
    [job] = [job for job in truth.jobs if job.id == dead]
    assert (job.type, job.state, job.attempt, job.max_attempts, job.crashes) == ("task", "dead", 1, 3, 0)
    assert (job.reason, job.decided_by, job.history) == ("gave up", "worker", (Step("fail", 1, "gave up"),))


def test_two_processes_may_share_one_list(recorded: Recorded) -> None:
    other = MemoryLog(recorded.history, "other", recorded.log.now_us)
    recorded.add()
    other.run("job", 1, 1)
    assert [event.process for event in recorded.history] == ["process", "process", "other"]
