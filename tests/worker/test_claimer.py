"""The claim loop: how much it asks for, what it does with refusals and outages, and that a last claim is not lost."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from penstock.domain.errors import StoreBusy, StoreGone, WorkerInactive, WorkerRefused
from penstock.observe.trouble import Part
from penstock.store.contract import Claim, Claimed, ClaimJobs, Store
from penstock.worker.claiming import claimer as claimer_module
from penstock.worker.claiming.balancing import Balancing
from penstock.worker.claiming.budget import Budget
from penstock.worker.claiming.claimer import PREFETCH_MAX, Claimer, ClaimLoops
from penstock.worker.executing.executor import Executor
from penstock.worker.executing.taken import Slots
from penstock.worker.finishing.finisher import Finisher
from penstock.worker.liveness import outage
from penstock.worker.running.isolation import Isolation
from penstock.worker.settings import WorkerSettings
from penstock.worker.slots import SlotGroup
from tests.worker.fakes import Answer, claim

ALONE = Balancing(list, lambda: 1)


class StubExecutor:
    """Slots that the test fills and empties."""

    def __init__(self, slots: int) -> None:
        self.slots = Slots(SlotGroup(types=("work",), slots=slots), cast(Isolation, None))
        self.room_left = 10**9
        self.active = cast(dict[int, Claim], self.slots.active)
        self.buffer: deque[Claim] = deque()
        self.ended = 0
        self.low_water = 0
        self.room, self.idle = asyncio.Event(), asyncio.Event()
        self.idle.set()
        self.taken = asyncio.Event()
        self.given_back: list[str] = []
        self.unbegun = self.runners = self

    def hurry(self) -> None: ...

    def give_back(self, why: str, keep: int = 0) -> None:
        self.given_back.append(why)
        while len(self.buffer) > keep:
            self.buffer.pop()

    def take(self, claims: list[Claim], claimed_at_us: int, asked: float) -> None:
        self.buffer.extend(claims)
        while self.buffer and self.slots.free > 0:
            begun = self.buffer.popleft()
            self.active[begun.token] = begun
        if self.active:
            self.idle.clear()
        self.taken.set()

    def end(self, count: int) -> None:
        for token in list(self.active)[:count]:
            del self.active[token]
        self.ended += count
        if not self.active and not self.buffer:
            self.idle.set()
        self.room.set()

    @property
    def held(self) -> int:
        return len(self.active) + len(self.buffer)


class StubFinisher:
    async def flush(self) -> None: ...


class ClaimStore:
    """Has as many jobs as the test says; troubles come first."""

    def __init__(self, jobs: int, *troubles: Exception) -> None:
        self.jobs = jobs
        self.troubles = list(troubles)
        self.asked: list[ClaimJobs] = []
        self.answered = 0

    def claim_jobs(self, params: ClaimJobs) -> Any:
        self.asked.append(params)

        def answer() -> Claimed:
            if self.troubles:
                raise self.troubles.pop(0)
            count = min(params.limit, self.jobs)
            self.jobs -= count
            self.answered += count
            return Claimed([claim(self.answered - count + n) for n in range(count)], 0, None)

        return Answer(answer)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "SECONDS_MIN", 0.001)


def with_claimer(
    store: ClaimStore,
    story: Callable[[Claimer, StubExecutor, asyncio.Task[None]], Coroutine[Any, Any, None]],
    **settings: Any,
) -> None:
    async def main() -> None:
        checked = WorkerSettings(**{"concurrency": 4, **settings})
        executor = StubExecutor(checked.concurrency)
        slots, finisher = cast(Executor, executor), cast(Finisher, StubFinisher())
        together = ClaimLoops([slots], Budget(checked.resources, [], [slots]), finisher)
        claimer = Claimer(cast(Store, store), slots, checked, lambda: 1, together, ALONE)
        running = asyncio.ensure_future(claimer.run())
        try:
            async with asyncio.timeout(30):
                await story(claimer, executor, running)
        finally:
            running.cancel()
            await asyncio.wait({running})

    asyncio.run(main())


def test_a_worker_without_a_pace_claims_its_free_slots_and_no_more() -> None:
    store = ClaimStore(100)

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        await executor.taken.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        assert [params.limit for params in store.asked] == [4]
        assert (executor.held, len(executor.buffer)) == (4, 0)
        executor.taken.clear()
        executor.end(1)
        await executor.taken.wait()
        assert store.asked[-1].limit == 1

    with_claimer(store, story)


def test_prefetch_is_bounded_whatever_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    store = ClaimStore(1_000_000)
    monkeypatch.setattr(claimer_module, "PREFETCH_SECONDS", 0.0001)

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        for _ in range(200):
            executor.ended += 1_000_000
            executor.room.set()
            executor.buffer.clear()
            await asyncio.sleep(0)
            assert executor.held <= 4 + PREFETCH_MAX
        assert max(params.limit for params in store.asked) <= 4 + PREFETCH_MAX
        assert {params.at_once for params in store.asked} <= {0, 1, 2, 3, 4}, "no limited job is fetched ahead"

    with_claimer(store, story)


def test_the_prefetch_sinks_with_the_pace() -> None:
    store = ClaimStore(0)

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        claimer._pace, claimer._prefetch = 10_000.0, 200
        claimer._paced_at -= 1.0
        claimer._measure_pace()
        assert (claimer._pace, claimer._prefetch) == (0.0, 0), "nothing ended for a second: nothing is fetched ahead"

    with_claimer(store, story)


def test_a_hint_brings_the_next_claim_at_once() -> None:
    store = ClaimStore(0)

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        await executor.taken.wait()
        store.jobs = 2
        executor.taken.clear()
        claimer.hint.set()
        await executor.taken.wait()
        assert executor.held == 2

    with_claimer(store, story)


def test_a_cancellation_that_comes_together_with_a_hint_is_not_swallowed() -> None:
    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        await executor.taken.wait()
        for _ in range(5):
            await asyncio.sleep(0)  # Until it waits for a hint.
        claimer.hint.set()
        running.cancel()
        done, _ = await asyncio.wait({running}, timeout=5)
        assert done
        assert running.cancelled()

    with_claimer(ClaimStore(0), story)


def test_it_waits_out_an_outage() -> None:
    store = ClaimStore(2, StoreBusy("locked"), StoreBusy("locked"))

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        await executor.taken.wait()
        assert executor.held == 2

    with_claimer(store, story)


def test_it_does_not_wait_for_a_store_that_is_gone() -> None:
    store = ClaimStore(2, StoreGone("jobs.db: the file was deleted"))

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        with pytest.raises(StoreGone):
            await running

    with_claimer(store, story)


def test_a_refused_worker_asks_to_be_registered_again_and_names_its_session() -> None:
    store = ClaimStore(2, WorkerRefused("this worker is lost"))
    again: list[int] = []

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        claimer.register_again = again.append
        await executor.taken.wait()
        assert (again, executor.held) == ([1], 2)

    with_claimer(store, story)


def test_a_hint_ends_the_wait_after_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever gives it has been in touch with the store."""
    monkeypatch.setattr(outage, "SECONDS_MAX", 3600.0)
    store = ClaimStore(1, *[StoreBusy("locked")] * 4)
    real = outage.Patience.__init__

    def patient(self: outage.Patience, part: Part | None = None) -> None:
        real(self, part)
        self._seconds = 3600.0

    monkeypatch.setattr(outage.Patience, "__init__", patient)

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        while not executor.taken.is_set():
            claimer.hint.set()
            await asyncio.sleep(0)
        assert store.troubles == []

    with_claimer(store, story)


def test_a_refusal_is_told_once_however_often_it_is_met(caplog: pytest.LogCaptureFixture) -> None:
    """Each hint leads to another try."""
    store = ClaimStore(1, *[WorkerInactive("this worker does not answer its probes")] * 50)

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        while not executor.taken.is_set():
            claimer.hint.set()
            await asyncio.sleep(0)

    with_claimer(store, story)
    told = [record.getMessage() for record in caplog.records]
    assert told[0] == "claim refused: this worker does not answer its probes; trying again"
    assert told[1].startswith("claims are no longer refused, after ")
    assert len(told) == 2


def test_a_refusal_after_a_long_outage_is_not_waited_out_like_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that was cut off for long is lost by then. It registers again, and goes on at once."""
    store = ClaimStore(1, *[StoreBusy("locked")] * 9, WorkerRefused("this worker is lost"), StoreBusy("locked"))

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        await executor.taken.wait()

    waits: list[float] = []
    real = outage.Patience.wait

    async def noted(self: outage.Patience, *args: Any) -> None:
        waits.append(self._seconds)
        await real(self, *args)

    monkeypatch.setattr(outage.Patience, "wait", noted)
    with_claimer(store, story)
    assert waits == [*(0.001 * 2**n for n in range(9)), 0.001, 0.001]


def test_a_claim_on_its_way_when_the_worker_stops_is_kept_for_release() -> None:
    store = ClaimStore(3)

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        await asyncio.sleep(0)
        assert store.asked, "the claim is on its way"
        assert not executor.held
        running.cancel()
        await asyncio.wait({running})
        assert running.cancelled()
        assert [begun.token for begun in executor.buffer] == [0, 1, 2]

    with_claimer(store, story)


@pytest.mark.parametrize("trouble", [StoreBusy("locked"), WorkerRefused("this worker is lost")])
def test_a_last_claim_that_fails_does_not_spoil_the_stop(trouble: Exception) -> None:
    store = ClaimStore(3, trouble)

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait({running})
        assert running.cancelled()

    with_claimer(store, story)


def test_burst_ends_only_after_a_claim_that_began_with_nothing_running() -> None:
    """The last job fails while an empty claim is on its way; its retry is due at once and must be found."""
    store = ClaimStore(1)

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        await executor.taken.wait()
        claims = len(store.asked)
        claimer.hint.set()
        while len(store.asked) == claims:
            await asyncio.sleep(0)
        executor.end(1)
        executor.taken.clear()
        await executor.taken.wait()
        store.jobs = 1
        while executor.held == 0 and not running.done():
            await asyncio.sleep(0)
        assert executor.held == 1
        executor.end(1)
        await running

    with_claimer(store, story, burst=True)


def test_a_last_claim_is_kept_whatever_becomes_of_the_buffer_meanwhile() -> None:
    """While its answer is awaited, another job is found to be lost and leaves the buffer."""
    store = ClaimStore(3)
    answered = asyncio.Event()
    ask = store.claim_jobs

    async def slow(params: ClaimJobs) -> Claimed:
        await answered.wait()
        claimed: Claimed = await ask(params)
        return claimed

    async def story(claimer: Claimer, executor: StubExecutor, running: asyncio.Task[None]) -> None:
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.sleep(0)
        executor.buffer = deque()
        answered.set()
        await asyncio.wait({running})
        assert running.cancelled()
        assert len(executor.buffer) == 3

    store.claim_jobs = slow  # type: ignore[method-assign]
    with_claimer(store, story)
