"""Outcomes are held until the store has them: through outages, in batches, and not beyond what no patience mends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from penstock.domain.errors import CommitUncertain, StoreBusy, StoreError, StoreGone
from penstock.store.contract import Store
from penstock.store.params import Completed, FinishJobs, Unfinished
from penstock.worker import outage
from penstock.worker.finisher import Finisher
from tests.worker.fakes import Answer, released


def success(token: int) -> Completed:
    return Completed(token, 0)


class FinishStore:
    """Keeps what it was given; a list of troubles comes first."""

    def __init__(self, *troubles: StoreError) -> None:
        self.troubles = list(troubles)
        self.batches: list[FinishJobs] = []
        self.lost: list[int] = []

    def finish_jobs(self, params: FinishJobs) -> Any:
        def answer() -> list[int]:
            if self.troubles:
                raise self.troubles.pop(0)
            self.batches.append(params)
            return self.lost

        return Answer(answer)

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
        finisher = Finisher(cast(Store, store), "default", failures.append)
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
        finisher.completed(success(1))
        await asyncio.sleep(0)
        finisher.unfinished(released(2))
        await finisher.flush()
        assert finisher.waiting == 0

    assert with_finisher(store, story) == []
    assert sorted(store.tokens) == [1, 2]


def test_what_gathers_while_a_batch_is_stored_becomes_the_next_batch() -> None:
    store = FinishStore()

    async def story(finisher: Finisher) -> None:
        finisher.completed(success(1))
        await asyncio.sleep(0)
        for token in range(2, 12):
            finisher.completed(success(token))
        await finisher.flush()

    with_finisher(store, story)
    assert store.tokens == list(range(1, 12))
    assert len(store.batches) == 2


def test_flush_waits_until_everything_is_stored() -> None:
    store = FinishStore(*[StoreBusy("locked")] * 5)

    async def story(finisher: Finisher) -> None:
        await finisher.flush()
        finisher.completed(success(1))
        await finisher.flush()
        assert store.tokens == [1]

    with_finisher(store, story)


def test_a_store_that_is_gone_is_fatal_and_does_not_hang_the_flush() -> None:
    gone = StoreGone("jobs.db: the file was deleted")
    store = FinishStore(gone)

    async def story(finisher: Finisher) -> None:
        finisher.completed(success(1))
        await finisher.flush()

    assert with_finisher(store, story) == [gone]
    assert store.tokens == []


def test_refused_outcomes_are_counted_and_said(caplog: pytest.LogCaptureFixture) -> None:
    store = FinishStore()
    store.lost = [1]

    async def story(finisher: Finisher) -> None:
        finisher.completed(success(1))
        await finisher.flush()
        assert finisher.lost == 1

    with_finisher(store, story)
    assert "1 outcomes were refused" in caplog.text


def test_after_an_uncertain_commit_a_refusal_may_be_our_own_doing(caplog: pytest.LogCaptureFixture) -> None:
    store = FinishStore(CommitUncertain("it is not known whether this was stored"))
    store.lost = [1]

    async def story(finisher: Finisher) -> None:
        finisher.completed(success(1))
        await finisher.flush()
        assert finisher.lost == 0

    with_finisher(store, story)
    assert "refused" not in caplog.text
