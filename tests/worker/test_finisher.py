"""Outcomes are held until the store has them: through outages, in batches, and not beyond what no patience mends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec
import pytest

from penstock.domain.errors import CommitUncertain, ConfigError, StoreBusy, StoreError, StoreGone, StoreRefused
from penstock.domain.job import Event
from penstock.observe.events import Ended, EndedBatch, Quiet
from penstock.store.contract import (
    Completed,
    EndedAttempts,
    Finished,
    FinishJobs,
    History,
    NewJob,
    SqlStore,
    Unfinished,
)
from penstock.worker.finishing import refusals
from penstock.worker.finishing.answers import tells
from penstock.worker.finishing.finisher import Attached, Finisher
from penstock.worker.liveness import outage
from tests.worker.fakes import Answer, claim, released

SECONDS = 0.1
SESSION = 7


def success(token: int) -> Completed:
    return Completed(token, 0)


class FinishStore:
    """Keeps what it was given; a list of troubles comes first."""

    def __init__(self, *troubles: StoreError) -> None:
        self.troubles = list(troubles)
        self.batches: list[FinishJobs] = []
        self.lost: list[int] = []
        self.cancelled: list[int] = []
        self.events: dict[str, Event] = {}
        """As what it has stored attempts, by the ids of their jobs."""
        self.removed: set[str] = set()
        """The ids of jobs that are gone."""
        self.observed: list[tuple[int, str]] = []
        """What observers were told: tokens, and what became of them."""

    def finish_jobs(self, params: FinishJobs) -> Any:
        def answer() -> Finished:
            if self.troubles:
                raise self.troubles.pop(0)
            self.batches.append(params)
            return Finished(self.lost, self.cancelled)

        return Answer(answer)

    def ended_attempts(self, params: EndedAttempts) -> Any:
        assert params.session == SESSION
        return Answer(lambda: [self.events.get(job_id) for job_id, _ in params.attempts])

    def read_job(self, job_id: str) -> Any:
        return Answer(lambda: None if job_id in self.removed else object())

    def told(self, ended: Sequence[Ended], answer: Finished, quiet: Quiet | None) -> None:
        batch = EndedBatch("worker", ended, answer)
        for one in batch.ended:
            token = one.end.token
            self.observed.append((token, "lost" if token in batch.lost else str(batch.event_of(one))))

    @property
    def tokens(self) -> list[int]:
        ends: list[Completed | Unfinished] = []
        for batch in self.batches:
            ends += [*batch.completed, *batch.unfinished]
        return [end.token for end in ends]


def with_finisher(store: FinishStore, story: Callable[[Finisher], Any]) -> list[BaseException]:
    """Tell the story with a running finisher; answers the errors that it called fatal."""
    failures: list[BaseException] = []

    async def main() -> None:
        finisher = Finisher(cast(SqlStore, store), "default", failures.append, lambda: SESSION, store.told)
        running = asyncio.ensure_future(finisher.run())
        try:
            async with asyncio.timeout(30):
                await story(finisher)
        finally:
            running.cancel()
            await asyncio.wait({running})

    asyncio.run(main())
    return failures


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "SECONDS_MIN", 0.001)


def test_outcomes_survive_an_outage_of_the_store() -> None:
    store = FinishStore(StoreBusy("locked"), StoreError("the disk"), StoreBusy("locked"))

    async def story(finisher: Finisher) -> None:
        finisher.completed(claim(1), success(1), SECONDS)
        await asyncio.sleep(0)
        finisher.unfinished(claim(2), released(2))
        await finisher.flush()
        assert finisher.waiting == 0

    assert with_finisher(store, story) == []
    assert sorted(store.tokens) == [1, 2]


def test_what_is_on_its_way_to_the_store_is_told_as_begun_like_what_waits() -> None:
    """While a handler blocks the event loop the store would take it for never begun, and give it to another."""

    class SlowStore(FinishStore):
        def finish_jobs(self, params: FinishJobs) -> Any:
            async def answer() -> Finished:
                started.set()
                await go_on.wait()
                return Finished()

            return answer()

    async def story(finisher: Finisher) -> None:
        finisher.completed(claim(1), Completed(1, 11), SECONDS)
        finisher.unfinished(claim(2), msgspec.structs.replace(released(2), started_at=12))
        await started.wait()
        finisher.completed(claim(3), Completed(3, 13), SECONDS)
        assert sorted(finisher.starts()) == [(1, 11), (2, 12), (3, 13)]
        go_on.set()
        await finisher.flush()
        assert finisher.starts() == []

    started, go_on = asyncio.Event(), asyncio.Event()
    assert with_finisher(SlowStore(), story) == []


def test_what_gathers_while_a_batch_is_stored_becomes_the_next_batch() -> None:
    store = FinishStore()

    async def story(finisher: Finisher) -> None:
        finisher.completed(claim(1), success(1), SECONDS)
        await asyncio.sleep(0)
        for token in range(2, 12):
            finisher.completed(claim(token), success(token), SECONDS)
        await finisher.flush()

    with_finisher(store, story)
    assert store.tokens == list(range(1, 12))
    assert len(store.batches) == 2


def test_flush_waits_until_everything_is_stored() -> None:
    store = FinishStore(*[StoreBusy("locked")] * 5)

    async def story(finisher: Finisher) -> None:
        await finisher.flush()
        finisher.completed(claim(1), success(1), SECONDS)
        await finisher.flush()
        assert store.tokens == [1]

    with_finisher(store, story)


def test_a_store_that_is_gone_is_fatal_and_does_not_hang_the_flush() -> None:
    gone = StoreGone("jobs.db: the file was deleted")
    store = FinishStore(gone)

    async def story(finisher: Finisher) -> None:
        finisher.completed(claim(1), success(1), SECONDS)
        await finisher.flush()

    assert with_finisher(store, story) == [gone]
    assert store.tokens == []


def test_refused_outcomes_are_counted_and_told_though_nobody_wanted_to_hear_of_them() -> None:
    store = FinishStore()
    store.lost = [1]

    async def story(finisher: Finisher) -> None:
        finisher.completed(claim(1), success(1), SECONDS)
        finisher.completed(claim(2), success(2), SECONDS)
        await finisher.flush()
        assert finisher.lost == 1

    with_finisher(store, story)
    assert store.observed == [(1, "lost")]


def test_what_a_person_had_cancelled_is_told_as_that_and_its_hooks_are_not_called() -> None:
    store = FinishStore()
    store.cancelled = [1]
    called: list[int] = []

    async def story(finisher: Finisher) -> None:
        for token in (1, 2):
            finisher.tell(Ended(claim(token), success(token)))
            finisher.after(token, lambda token=token: called.append(token))  # type: ignore[misc]
            finisher.completed(claim(token), success(token), SECONDS)
        await finisher.flush()

    with_finisher(store, story)
    assert store.observed == [(1, "cancel"), (2, "complete")]
    assert called == [2]


UNSURE = CommitUncertain("it is not known whether this was stored")


@pytest.mark.parametrize(
    ("event", "told"), [(Event.COMPLETE, "complete"), (Event.CANCEL, "cancel"), (None, "lost")], ids=str
)
def test_after_an_uncertain_commit_the_store_is_asked_what_is_true(event: Event | None, told: str) -> None:
    """What looks lost may have been stored by the first try."""
    store = FinishStore(UNSURE)
    store.lost = [1]
    if event is not None:
        store.events = {claim(1).id: event}

    async def story(finisher: Finisher) -> None:
        finisher.tell(Ended(claim(1), success(1)))
        finisher.completed(claim(1), success(1), SECONDS)
        await finisher.flush()
        assert finisher.lost == (event is None)

    with_finisher(store, story)
    assert store.observed == [(1, told)]


def test_an_attempt_whose_job_is_gone_afterwards_is_taken_for_stored() -> None:
    """It had put the job back, others have run and removed it: nothing tells any more."""
    store = FinishStore(UNSURE)
    store.lost, store.removed = [1], {claim(1).id}

    async def story(finisher: Finisher) -> None:
        finisher.tell(Ended(claim(1), released(1)))
        finisher.unfinished(claim(1), released(1))
        await finisher.flush()
        assert finisher.lost == 0

    with_finisher(store, story)
    assert store.observed == [(1, "release")]


def test_a_store_that_fails_while_it_is_asked_is_asked_again() -> None:
    store = FinishStore(UNSURE)
    store.lost, store.events = [1], {claim(1).id: Event.COMPLETE}
    answer, troubles = store.ended_attempts, [StoreBusy("locked"), StoreBusy("locked")]

    def asked(params: EndedAttempts) -> Any:
        if troubles:
            raise troubles.pop()
        return answer(params)

    store.ended_attempts = asked  # type: ignore[method-assign]

    async def story(finisher: Finisher) -> None:
        finisher.tell(Ended(claim(1), success(1)))
        finisher.completed(claim(1), success(1), SECONDS)
        await finisher.flush()

    with_finisher(store, story)
    assert not troubles
    assert store.observed == [(1, "complete")]


@pytest.mark.parametrize(
    ("end", "history", "known"),
    [
        (success(1), "default", True),
        (success(1), "failures", False),
        (Completed(1, 0, keep=False), "default", False),
        (Completed(1, 0, keep=5), "all", False),
        (released(1), "failures", True),
        (released(1), "none", False),
        (Unfinished(token=1, event=Event.FAIL), "none", True),
        (Unfinished(token=1, event=Event.FAIL, keep=False), "all", False),
        (Unfinished(token=1, event=Event.CANCEL), "none", True),
    ],
)
def test_where_the_store_keeps_nothing_that_tells_an_outcome_is_taken_for_stored(
    end: Completed | Unfinished, history: History, known: bool
) -> None:
    assert tells(end, history) is known


class PickyStore(FinishStore):
    """Never takes these tokens, as long as something goes with them."""

    def __init__(self, error: Exception, *tokens: int) -> None:
        super().__init__(StoreBusy("locked"))
        self._error, self._never = error, {*tokens}

    def finish_jobs(self, params: FinishJobs) -> Any:
        attached = {token for token, _ in params.follow_ups}
        attached |= {end.token for end in params.unfinished if end.member or end.error}
        if not self.troubles and attached & self._never:
            self.troubles.append(self._error)  # type: ignore[arg-type]
        return super().finish_jobs(params)


def with_follow_up(token: int) -> Attached:
    return Attached([(token, cast(NewJob, None))])


@pytest.mark.parametrize("error", [StoreRefused("taken"), ConfigError("two limits"), RecursionError("too deep")])
def test_what_the_store_never_takes_holds_up_nobody_else(error: Exception) -> None:
    store = PickyStore(error, 2, 5)
    told: list[str] = []

    async def story(finisher: Finisher) -> None:
        def refused(token: int) -> Callable[[Exception], None]:
            def fail(why: Exception) -> None:
                told.append(f"{token}: {why}")
                finisher.after(token, lambda: told.append(f"{token} has failed"))
                finisher.unfinished(claim(token), released(token))

            return fail

        finisher.completed(claim(1), success(1), SECONDS)
        for token in (2, 3):
            finisher.after(token, lambda token=token: told.append(f"{token} is done"))  # type: ignore[misc]
            finisher.completed(claim(token), success(token), SECONDS, with_follow_up(token), refused(token))
        finisher.unfinished(claim(4), released(4))
        finisher.unfinished(claim(5), msgspec.structs.replace(released(5), member="the-id", error="odd"))
        await finisher.flush()
        assert finisher.lost == 0

    assert with_finisher(store, story) == []
    assert sorted(store.tokens) == [1, 2, 3, 4, 5]
    assert [done.token for batch in store.batches for done in batch.completed] == [1, 3]
    assert sorted(told) == sorted([f"2: {error}", "2 has failed", "3 is done"])
    (fifth,) = [end for batch in store.batches for end in batch.unfinished if end.token == 5]
    assert (fifth.member, fifth.error, fifth.reason) == (None, None, refusals.BARE_REASON)


def test_after_an_outage_all_that_waited_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    store = FinishStore(StoreBusy("locked"))

    async def story(finisher: Finisher) -> None:
        finisher.completed(claim(1), success(1), SECONDS)
        while store.troubles:
            await asyncio.sleep(0)
        for token in (2, 3):  # While the first waits for its next try.
            finisher.completed(claim(token), success(token), SECONDS)
        await finisher.flush()
        finisher.completed(claim(4), success(4), SECONDS)
        await finisher.flush()

    with caplog.at_level(logging.WARNING, "penstock.worker"):
        with_finisher(store, story)
    assert [[done.token for done in batch.completed] for batch in store.batches] == [[1], [2, 3], [4]]
    began, over = caplog.messages
    assert began == "outcomes of 1 job not stored yet: locked; trying again"
    assert over.endswith(": outcomes of 3 jobs stored")


def test_an_error_that_nobody_has_caused_ends_the_finisher() -> None:
    store = FinishStore()
    store.troubles.append(RecursionError("a defect"))  # type: ignore[arg-type]

    async def main() -> None:
        finisher = Finisher(cast(SqlStore, store), "default", lambda error: None, lambda: SESSION, store.told)
        finisher.completed(claim(1), success(1), SECONDS)
        await asyncio.wait_for(finisher.run(), 30)

    with pytest.raises(RecursionError, match="a defect"):
        asyncio.run(main())


def test_outcomes_that_wait_for_open_transactions_are_stored_one_at_a_time() -> None:
    """Each keeps a connection busy for as long as it waits: several would leave none for the others."""
    waiting: list[int] = []
    most: list[int] = []
    stored: list[int] = []

    class Held(FinishStore):
        def finish_jobs(self, params: FinishJobs) -> Any:
            async def answer() -> Finished:
                tokens = [end.token for end in params.ends]
                if tokens[0] < 5:
                    waiting.append(tokens[0])
                    most.append(len(waiting))
                    await go_on.wait()
                    waiting.remove(tokens[0])
                stored.extend(tokens)
                return Finished()

            return answer()

        async def read_job(self, job_id: str) -> Any:
            return msgspec.defstruct("Job", [("attempt", int), ("state", str)])(1, "running")

    async def story(finisher: Finisher) -> None:
        for token in range(1, 5):
            held = claim(token)
            finisher.settle(held, lambda state, held=held: finisher.unfinished(held, released(held.token)))  # type: ignore[misc]
        while not waiting:
            await asyncio.sleep(0)
        finisher.completed(claim(9), success(9), SECONDS)
        while 9 not in stored:
            await asyncio.sleep(0)
        go_on.set()
        await finisher.flush()

    go_on = asyncio.Event()
    assert with_finisher(Held(), story) == []
    assert sorted(stored) == [1, 2, 3, 4, 9]
    assert max(most) == 1
