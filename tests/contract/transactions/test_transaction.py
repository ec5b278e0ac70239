"""Jobs in the caller's own transaction: they exist if and only if it commits."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from penstock.domain.errors import PenstockError, StoreRefused, UsageError
from penstock.domain.job import Event, State
from penstock.domain.options import Unique
from penstock.store.contract import (
    CancelJob,
    Claim,
    Completed,
    Enqueued,
    EnqueueJobs,
    Finished,
    FinishJobs,
    NewJob,
    Transaction,
)
from tests.contract.conftest import CarryOut, OpenAgain
from tests.contract.engines import Engine
from tests.contract.world import NOT_STORABLE_AT, World


class OnPurpose(Exception):
    """What the caller's own code raises in these tests."""


def enqueue_in(world: World, transaction: object, *jobs: NewJob) -> list[Enqueued]:
    return world.store.enqueue_jobs(EnqueueJobs(jobs, transaction)).wait()


def fail_after(world: World, act: Callable[[Transaction], object]) -> None:
    """A transaction whose block does something and then raises."""

    def block() -> None:
        with world.store.transaction() as tx:
            act(tx)
            raise OnPurpose

    with pytest.raises(OnPurpose):
        block()


def test_committed_at_the_end_of_the_block(world: World, open_again: OpenAgain, session: int) -> None:
    other = open_again()
    job = world.new_job()
    with world.store.transaction() as tx:
        assert enqueue_in(world, tx, job) == [Enqueued(job.id, True)]
        assert other.find(job.id) is None
    assert other.state(job.id) is State.PENDING
    assert [claim.id for claim in world.claim(session)] == [job.id]


def test_rolled_back_on_an_error(world: World, session: int) -> None:
    job = world.new_job(type="never seen before")
    fail_after(world, lambda tx: enqueue_in(world, tx, job))
    assert world.find(job.id) is None
    assert world.claim(session) == []
    assert world.enqueue(job) == [Enqueued(job.id, True)]
    assert [claim.id for claim in world.claim(session)] == [job.id]


def test_the_callers_own_statements_commit_with_the_jobs(world: World) -> None:
    with world.store.transaction() as tx:
        tx.execute("CREATE TABLE orders (id INTEGER, note TEXT)")
    job = world.new_job()
    fail_after(world, lambda tx: tx.execute("INSERT INTO orders VALUES (1, 'lost')"))
    with world.store.transaction() as tx:
        tx.execute("INSERT INTO orders VALUES (?, ?)", (2, "kept"))
        enqueue_in(world, tx, job)
    with world.store.transaction() as tx:
        assert tx.execute("SELECT id, note FROM orders") == [(2, "kept")]
        assert tx.execute("SELECT note FROM orders WHERE id = :id", {"id": 2}) == [("kept",)]
    assert world.list_ids() == [job.id]


def test_a_failed_enqueue_leaves_nothing_in_a_transaction_that_goes_on(world: World, session: int) -> None:
    good, kept = world.new_job(type="unseen"), world.new_job(type="other")
    with world.store.transaction() as tx:
        with pytest.raises((PenstockError, OverflowError)):
            enqueue_in(world, tx, good, world.new_job(at=NOT_STORABLE_AT))
        enqueue_in(world, tx, kept)
    assert world.list_ids() == [kept.id]
    assert world.enqueue(good) == [Enqueued(good.id, True)]
    assert {claim.id for claim in world.claim(session)} == {kept.id, good.id}


def test_a_job_with_a_delay_in_a_transaction(world: World, session: int) -> None:
    job = world.new_job(delay=5.0, ttl=60.0)
    with world.store.transaction() as tx:
        enqueue_in(world, tx, job)
    assert world.state(job.id) is State.SCHEDULED
    world.clock.advance(5)
    assert [claim.id for claim in world.claim(session)] == [job.id]


def test_ids_are_fenced_inside_a_transaction_too(world: World) -> None:
    job = world.new_job()
    world.enqueue(job)
    with world.store.transaction() as tx:
        assert enqueue_in(world, tx, job) == [Enqueued(job.id, False)]


def test_joining_through_both_faces(world: World, carry_out: CarryOut) -> None:
    job = world.new_job()
    with world.store.transaction() as tx:
        call = world.store.enqueue_jobs(EnqueueJobs([job], tx))
        assert carry_out(call) == [Enqueued(job.id, True)]
    assert world.state(job.id) is State.PENDING


def test_async_commit_and_rollback(world: World) -> None:
    kept, lost = world.new_job(), world.new_job()

    async def enqueue_and_fail() -> None:
        async with world.store.atransaction() as tx:
            await world.store.enqueue_jobs(EnqueueJobs([lost], tx))
            raise OnPurpose

    async def main() -> None:
        async with world.store.atransaction() as tx:
            assert await world.store.enqueue_jobs(EnqueueJobs([kept], tx)) == [Enqueued(kept.id, True)]
            assert tx.execute("SELECT 1") == [(1,)]
        with pytest.raises(OnPurpose):
            await enqueue_and_fail()
        assert await world.store.read_job(lost.id) is None

    asyncio.run(main())
    assert world.list_ids() == [kept.id]


def held_by_another_thread(world: World) -> AbstractContextManager[Any]:
    """A transaction that is open in another thread while the block runs."""

    class Holder:
        def __enter__(self) -> None:
            self.entered, self.leave = threading.Event(), threading.Event()
            self.thread = threading.Thread(target=self.hold)
            self.thread.start()
            assert self.entered.wait(10)

        def hold(self) -> None:
            with world.store.transaction():
                self.entered.set()
                assert self.leave.wait(10)

        def __exit__(self, *_: object) -> None:
            self.leave.set()
            self.thread.join()

    return Holder()


def test_beginning_does_not_block_the_event_loop(narrow_world: World) -> None:
    world = narrow_world

    async def main() -> None:
        async def enter() -> None:
            async with world.store.atransaction() as tx:
                await world.store.enqueue_jobs(EnqueueJobs([world.new_job()], tx))

        with held_by_another_thread(world):
            entering = asyncio.create_task(enter())
            ticks = 0
            while ticks < 50:
                await asyncio.sleep(0)
                ticks += 1
            assert not entering.done()
        await entering

    asyncio.run(main())
    assert len(world.list_ids()) == 1


def test_many_async_transactions_at_once(world: World) -> None:
    async def one() -> None:
        async with world.store.atransaction() as tx:
            await world.store.enqueue_jobs(EnqueueJobs([world.new_job()], tx))

    async def main() -> None:
        async with asyncio.timeout(30):
            await asyncio.gather(*(one() for _ in range(60)))

    asyncio.run(main())
    assert len(world.list_ids()) == 60


def test_cancelled_while_it_waits_to_begin_leaves_the_store_free(narrow_world: World) -> None:
    world = narrow_world

    async def main() -> None:
        begun = asyncio.Event()

        async def enter() -> None:
            begun.set()
            async with world.store.atransaction():
                raise AssertionError("the transaction began after its caller had gone")

        with held_by_another_thread(world):
            entering = asyncio.create_task(enter())
            await begun.wait()
            for _ in range(20):
                await asyncio.sleep(0.001)  # The wait for the lock happens in a thread that gives no sign.
            entering.cancel()
            with pytest.raises(asyncio.CancelledError):
                await entering
        async with asyncio.timeout(10):
            await world.store.enqueue_jobs(EnqueueJobs([world.new_job()]))

    asyncio.run(main())
    assert len(world.list_ids()) == 1


def test_cancelled_inside_the_block_is_rolled_back(world: World) -> None:
    async def main() -> None:
        inside = asyncio.Event()

        async def enter() -> None:
            async with world.store.atransaction() as tx:
                await world.store.enqueue_jobs(EnqueueJobs([world.new_job()], tx))
                inside.set()
                await asyncio.Event().wait()

        entering = asyncio.create_task(enter())
        await inside.wait()
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering

    asyncio.run(main())
    assert world.list_ids() == []
    world.add()


# The end of an attempt in the caller's transaction


def finish_in(transaction: object, claim: Claim, *follow_ups: NewJob, **fields: Any) -> FinishJobs:
    done = Completed(claim.token, claim.due_at, **fields)
    return FinishJobs([done], follow_ups=[(claim.token, job) for job in follow_ups], transaction=transaction)


def test_an_attempt_ends_when_the_transaction_commits(
    world: World, open_again: OpenAgain, session: int, carry_out: CarryOut
) -> None:
    other = open_again()
    job_id, follow_up = world.add(), world.new_job(parent=world.new_id())
    claim = world.claim_one(session)
    with world.store.transaction() as tx:
        params = finish_in(tx, claim, follow_up, result='{"sum":7}', progress='{"percent":100}')
        assert carry_out(world.store.finish_jobs(params)) == Finished()
        assert other.state(job_id) is State.CLAIMED
        assert other.find(follow_up.id) is None
    job = other.read(job_id)
    assert (job.state, job.result, job.attempt) == (State.COMPLETED, {"sum": 7}, 1)
    assert other.state(follow_up.id) is State.PENDING
    assert other.complete(claim) == [claim.token]


def test_an_attempt_goes_on_when_the_transaction_is_rolled_back(world: World, session: int) -> None:
    job_id, follow_up = world.add(), world.new_job()
    claim = world.claim_one(session)
    fail_after(world, lambda tx: world.store.finish_jobs(finish_in(tx, claim, follow_up)).wait())
    assert world.state(job_id) is State.CLAIMED
    assert world.find(follow_up.id) is None
    assert world.start(claim) == []
    assert world.complete(claim, result='"later"') == []
    assert world.read(job_id).result == "later"


def test_a_lost_token_ends_nothing_in_the_transaction(world: World, session: int) -> None:
    world.add()
    claim, follow_up, kept = world.claim_one(session), world.new_job(), world.new_job()
    world.end(claim, Event.RELEASE)
    with world.store.transaction() as tx:
        assert world.store.finish_jobs(finish_in(tx, claim, follow_up)).wait().lost == [claim.token]
        enqueue_in(world, tx, kept)
    assert world.find(follow_up.id) is None
    assert world.state(claim.id) is State.PENDING
    assert world.state(kept.id) is State.PENDING


def test_an_attempt_ends_once_in_a_transaction(world: World, session: int) -> None:
    world.add()
    claim = world.claim_one(session)
    with world.store.transaction() as tx:
        assert world.store.finish_jobs(finish_in(tx, claim, result='"first"')).wait().lost == []
        assert world.store.finish_jobs(finish_in(tx, claim, result='"second"')).wait().lost == [claim.token]
    assert world.read(claim.id).result == "first"


def test_a_failed_end_leaves_nothing_in_a_transaction_that_goes_on(world: World, session: int) -> None:
    world.add()
    claim, kept = world.claim_one(session), world.new_job()
    with world.store.transaction() as tx:
        broken = finish_in(tx, claim, world.new_job(), world.new_job(at=NOT_STORABLE_AT))
        with pytest.raises((PenstockError, OverflowError)):
            world.store.finish_jobs(broken).wait()
        enqueue_in(world, tx, kept)
    assert world.list_ids() == [kept.id, claim.id]
    assert world.complete(claim) == []


def test_a_job_that_is_not_kept_goes_with_the_transaction(world: World, session: int) -> None:
    world.add()
    claim = world.claim_one(session)
    fail_after(world, lambda tx: world.store.finish_jobs(finish_in(tx, claim, keep=False)).wait())
    assert world.state(claim.id) is State.CLAIMED
    with world.store.transaction() as tx:
        assert world.store.finish_jobs(finish_in(tx, claim, keep=False)).wait().lost == []
    assert world.find(claim.id) is None


def test_a_job_that_was_asked_to_stop_ends_cancelled_in_a_transaction_too(world: World, session: int) -> None:
    world.add()
    claim, follow_up = world.claim_one(session), world.new_job()
    world.store.cancel_job(CancelJob(claim.id)).wait()
    with world.store.transaction() as tx:
        assert world.store.finish_jobs(finish_in(tx, claim, follow_up, result="1")).wait().lost == []
    assert (world.read(claim.id).state, world.read(claim.id).result) == (State.CANCELLED, None)
    assert world.find(follow_up.id) is None


def test_the_transaction_of_a_finish_is_checked_like_that_of_an_enqueue(world: World, session: int) -> None:
    world.add()
    claim = world.claim_one(session)
    with pytest.raises(UsageError, match="cannot be used"):
        world.store.finish_jobs(finish_in(object(), claim)).wait()
    with world.store.transaction() as tx:
        pass
    with pytest.raises(UsageError, match="has ended"):
        world.store.finish_jobs(finish_in(tx, claim)).wait()


def test_a_savepoint_of_the_callers_takes_back_the_first_job_of_a_type(
    world: World, open_again: OpenAgain, session: int
) -> None:
    lost, other_type, kept = (world.new_job(type=name) for name in ("invoice", "refund", "invoice"))
    with world.store.transaction() as tx:
        tx.execute("SAVEPOINT mine")
        enqueue_in(world, tx, lost)
        tx.execute("ROLLBACK TO SAVEPOINT mine")
    open_again().enqueue(other_type)
    world.enqueue(kept)
    assert world.find(lost.id) is None
    assert [world.read(job.id).type for job in (other_type, kept)] == ["refund", "invoice"]
    assert [claim.id for claim in world.claim(session, types=("invoice",))] == [kept.id]
    assert [claim.id for claim in world.claim(session, types=("refund",))] == [other_type.id]


def test_a_savepoint_of_the_callers_takes_back_a_unique_key(world: World, session: int) -> None:
    with world.store.transaction() as tx:
        tx.execute("SAVEPOINT mine")
        enqueue_in(world, tx, world.new_job(unique=Unique("key")))
        tx.execute("ROLLBACK TO SAVEPOINT mine")
    kept = world.new_job(unique=Unique("key"))
    assert world.enqueue(kept) == [Enqueued(kept.id, True)]
    assert [claim.id for claim in world.claim(session)] == [kept.id]


ENDING = {
    "a failure that was caught": "INSERT OR ROLLBACK INTO orders VALUES (1)",
    "a rollback": "ROLLBACK",
    "a commit": "COMMIT",
}


@pytest.mark.parametrize("statement", ENDING)
@pytest.mark.parametrize("face", ["plain", "async"])
def test_a_block_that_cannot_commit_says_so(engine: Engine, world: World, statement: str, face: str) -> None:
    """It was left without an error, and not all of it is stored."""
    with world.store.transaction() as tx:
        tx.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        tx.execute("INSERT INTO orders VALUES (1)")
    before, after = world.new_job(), world.new_job()
    ending = ENDING[statement].replace("OR ROLLBACK ", "" if engine.kind == "postgresql" else "OR ROLLBACK ")

    def act(tx: Transaction) -> None:
        with contextlib.suppress(Exception):
            tx.execute(ending)
        with contextlib.suppress(PenstockError):
            enqueue_in(world, tx, after)

    def plain() -> None:
        with world.store.transaction() as tx:
            enqueue_in(world, tx, before)
            act(tx)

    async def asynchronous() -> None:
        async with world.store.atransaction() as tx:
            await world.store.enqueue_jobs(EnqueueJobs([before], tx))
            await asyncio.to_thread(act, tx)

    with pytest.raises((StoreRefused, UsageError), match=r"nothing of this|ended inside"):
        plain() if face == "plain" else asyncio.run(asynchronous())
    assert (world.find(before.id) is not None) is (statement == "a commit")
    assert world.find(after.id) is None
    with world.store.transaction() as tx:
        enqueue_in(world, tx, after)
    assert world.state(after.id) is State.PENDING


def test_a_failure_inside_of_a_savepoint_keeps_the_rest(world: World) -> None:
    with world.store.transaction() as tx:
        tx.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        tx.execute("INSERT INTO orders VALUES (1)")
    job = world.new_job()
    with world.store.transaction() as tx:
        enqueue_in(world, tx, job)
        tx.execute("SAVEPOINT mine")
        with contextlib.suppress(Exception):
            tx.execute("INSERT INTO orders VALUES (1)")
        tx.execute("ROLLBACK TO SAVEPOINT mine")
    assert world.state(job.id) is State.PENDING
