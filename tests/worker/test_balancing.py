"""New work goes to the least loaded worker, by turns, as often as each has slots; nobody waits for nobody (R4)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from penstock.store.contract import Claimed, ClaimJobs, SqlStore, WorkerInfo
from penstock.worker.claiming import claimer as claimer_module
from penstock.worker.claiming.balancing import GIVE_WAY_SECONDS, Balancing, chosen, least_loaded
from penstock.worker.claiming.budget import Budget
from penstock.worker.claiming.claimer import Claimer, ClaimLoops
from penstock.worker.executing.executor import Executor
from penstock.worker.finishing.finisher import Finisher
from penstock.worker.settings import WorkerSettings
from tests.unit.observe.samples import worker as worker_info
from tests.worker.fakes import Answer, claim
from tests.worker.test_claimer import StubExecutor, StubFinisher


def at(session: int, slots: int = 50, jobs: int = 0, **fields: Any) -> WorkerInfo:
    return worker_info(session=session, slots=slots, jobs=jobs, **fields)


def spreading(session: int, *around: WorkerInfo) -> Balancing:
    return Balancing(lambda: around, lambda: session)


# Whose turn it is


@pytest.mark.parametrize("step", [1, 2, 3, 4, 7, 1000, 1_000_003])
@pytest.mark.parametrize("slots", [(50, 50), (10, 50), (4, 10, 50), (1, 1, 1, 1)])
def test_each_has_its_turn_as_often_as_it_has_slots(slots: tuple[int, ...], step: int) -> None:
    workers = [at(session, count) for session, count in enumerate(slots, 1)]
    turns = Counter(chosen(workers, 10**12 + n * step) for n in range(1000))
    for session, count in enumerate(slots, 1):
        fair = 1000 * count / sum(slots)
        assert 0.9 * fair - 1 <= turns[session] <= 1.1 * fair + 1


def test_all_who_hear_the_same_number_agree_whatever_the_order_of_their_lists() -> None:
    workers = [at(1, 10), at(2, 50), at(3, 4)]
    for turn in range(100):
        assert chosen(workers, turn) == chosen(workers[::-1], turn)


def test_turns_are_mixed_so_that_nobody_has_many_in_a_row() -> None:
    turns = [chosen([at(1), at(2)], n) for n in range(100)]
    assert "111" not in "".join(map(str, turns))


@pytest.mark.parametrize("turn", range(20))
def test_one_claims_at_once_and_the_others_give_way(turn: int) -> None:
    around = at(1), at(2), at(3, 10)
    pauses = [spreading(one.session, *around).pause(turn) for one in around]
    assert sorted(pauses) == [0.0, GIVE_WAY_SECONDS, GIVE_WAY_SECONDS]


# To whom it gives way


def pauses(session: int, *around: WorkerInfo) -> set[float]:
    return {spreading(session, *around).pause(turn) for turn in range(50)}


def test_alone_it_never_waits() -> None:
    assert pauses(1, at(1)) == {0.0}
    assert pauses(1) == {0.0}, "nothing is known yet"
    assert spreading(1, at(1), at(2)).pause(None) == 0.0, "a hint without a number"


@pytest.mark.parametrize(
    "other",
    [at(2, jobs=50), at(2, jobs=60), at(2, types=("other",)), at(2, queues=("q",)), at(2, capabilities=("ml",))],
    ids=["full", "more than full", "other types", "other queues", "other capabilities"],
)
def test_it_does_not_wait_for_one_that_could_not_take_it_sooner(other: WorkerInfo) -> None:
    here = at(1, jobs=40, queues=("default",))
    assert pauses(1, here, other) == {0.0}
    assert not spreading(1, here, other).shared


def test_a_busy_worker_always_gives_way_to_an_idle_one() -> None:
    busy, idle = at(1, jobs=45), at(2)
    assert pauses(1, busy, idle) == {GIVE_WAY_SECONDS}
    assert pauses(2, busy, idle) == {0.0}


def test_a_little_more_load_is_no_difference() -> None:
    assert least_loaded([at(1, jobs=5), at(2, jobs=2)], 1) == [at(1, jobs=5), at(2, jobs=2)]
    assert least_loaded([at(1, jobs=8), at(2, jobs=2)], 1) == [at(2, jobs=2)]


def test_a_full_worker_is_out_and_the_rest_share() -> None:
    full, one, two = at(1, 4, jobs=4), at(2), at(3)
    assert least_loaded([full, one, two], 2) == [one, two]


# Claimers that share a store


class SharedStore:
    """Jobs that a story puts there; whoever asks first gets them."""

    def __init__(self) -> None:
        self.jobs = 0
        self.taken: Counter[int] = Counter()
        self.asked: list[tuple[int, int]] = []

    def claim_jobs(self, params: ClaimJobs) -> Any:
        def answer() -> Claimed:
            self.asked.append((params.session, params.limit))
            count = min(params.limit, self.jobs)
            self.jobs -= count
            first = self.taken.total()
            self.taken[params.session] += count
            return Claimed([claim(first + n) for n in range(count)], 0, None)

        return Answer(answer)


def claimer_of(store: SharedStore, session: int, executor: StubExecutor, spread: Balancing) -> Claimer:
    slots, finisher = cast(Executor, executor), cast(Finisher, StubFinisher())
    loops = ClaimLoops([slots], Budget(None, [], []), finisher)
    settings = WorkerSettings(concurrency=executor.slots.group.slots)
    return Claimer(cast(SqlStore, store), slots, settings, lambda: session, loops, spread)


Story = Callable[[SharedStore, list[Claimer], list[StubExecutor]], Coroutine[Any, Any, None]]


def beside_claimers(around: list[WorkerInfo], story: Story, here: int | None = None) -> SharedStore:
    """Run a claimer for each of these workers, or for the first few of them, while the story is told."""
    store = SharedStore()

    async def main() -> None:
        executors = [StubExecutor(one.slots) for one in around[:here]]
        claimers = [
            claimer_of(store, one.session, executor, spreading(one.session, *around))
            for one, executor in zip(around, executors, strict=False)
        ]
        running = [asyncio.ensure_future(claimer.run()) for claimer in claimers]
        try:
            async with asyncio.timeout(60):
                await story(store, claimers, executors)
        finally:
            for task in running:
                task.cancel()
            await asyncio.wait(running)

    asyncio.run(main())
    return store


def ring(claimers: list[Claimer], turn: int | None) -> None:
    for claimer in claimers:
        claimer.turn = turn
        claimer.hint.set()


async def dry(store: SharedStore, claimers: list[Claimer]) -> None:
    """Until each has looked since."""
    looked = len(store.asked)
    while {session for session, _ in store.asked[looked:]} != {n + 1 for n in range(len(claimers))}:
        await asyncio.sleep(0.001)


@pytest.mark.parametrize(("slots", "shares"), [((50, 50), (50, 50)), ((10, 50), (17, 83))])
def test_a_stream_of_single_jobs_is_shared(slots: tuple[int, int], shares: tuple[int, int]) -> None:
    async def story(store: SharedStore, claimers: list[Claimer], executors: list[StubExecutor]) -> None:
        await dry(store, claimers)
        for turn in range(100):
            store.jobs += 1
            ring(claimers, turn)
            await dry(store, claimers)
            for executor in executors:
                executor.end(len(executor.active))

    store = beside_claimers([at(1, slots[0]), at(2, slots[1])], story)
    assert store.taken.total() == 100
    assert abs(store.taken[1] - shares[0]) <= 3


def test_a_handful_of_jobs_is_not_taken_by_one() -> None:
    async def story(store: SharedStore, claimers: list[Claimer], executors: list[StubExecutor]) -> None:
        await dry(store, claimers)
        store.jobs += 10
        ring(claimers, 0)
        while store.jobs:
            await asyncio.sleep(0.001)

    store = beside_claimers([at(1, 50), at(2, 50)], story)
    assert min(store.taken[1], store.taken[2]) >= 4


def test_who_finds_a_backlog_soon_claims_all_it_can() -> None:
    async def story(store: SharedStore, claimers: list[Claimer], executors: list[StubExecutor]) -> None:
        await dry(store, claimers)
        store.jobs += 1000
        ring(claimers, 0)
        while executors[0].held < 50 or executors[1].held < 50:
            await asyncio.sleep(0.001)

    store = beside_claimers([at(1, 50), at(2, 50)], story)
    assert [limit for session, limit in store.asked if session == 1][1:] == [6, 12, 24, 8]


def test_alone_the_first_claim_asks_for_all_free_slots() -> None:
    async def story(store: SharedStore, claimers: list[Claimer], executors: list[StubExecutor]) -> None:
        await dry(store, claimers)
        store.jobs += 1000
        ring(claimers, 0)
        while executors[0].held < 50:
            await asyncio.sleep(0.001)

    assert beside_claimers([at(1, 50)], story).asked[1] == (1, 50)


def test_what_was_fetched_ahead_and_does_not_begin_goes_back_if_another_is_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claimer_module, "HELD_SECONDS_MAX", 0.01)

    async def story(store: SharedStore, claimers: list[Claimer], executors: list[StubExecutor]) -> None:
        (executor,) = executors
        await dry(store, claimers)
        executor.take([claim(100 + n) for n in range(60)], 0, asyncio.get_running_loop().time())
        claimers[0].hint.set()
        while not executor.given_back:
            await asyncio.sleep(0.001)
        assert executor.given_back == ["another worker can begin it sooner"]

    beside_claimers([at(1, 50, jobs=49), at(2, 50)], story, here=1)


def test_what_was_fetched_ahead_and_begins_slowly_goes_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come one by one, each a moment after the other, as behind handlers that block the event loop."""
    monkeypatch.setattr(claimer_module, "HELD_SECONDS_MAX", 0.2)

    async def story(store: SharedStore, claimers: list[Claimer], executors: list[StubExecutor]) -> None:
        (executor,) = executors
        await dry(store, claimers)
        executor.take([claim(100 + n) for n in range(1000)], 0, asyncio.get_running_loop().time())
        claimers[0].hint.set()
        while not executor.given_back:
            assert len(executor.buffer) > 1, "all of them were waited for"
            begun = executor.buffer.popleft()
            del executor.active[next(iter(executor.active))]
            executor.active[begun.token] = begun
            executor.ended += 1
            await asyncio.sleep(0.01)
        assert executor.given_back == ["another worker can begin it sooner"]
        assert len(executor.buffer) <= 5, "more was kept than begins within a moment"

    beside_claimers([at(1, 50, jobs=49), at(2, 50)], story, here=1)
