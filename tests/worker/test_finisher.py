"""Outcomes are held until the store has them: through outages, in batches, and not beyond what no patience mends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from penstock.domain.errors import CommitUncertain, ConfigError, StoreBusy, StoreError, StoreGone, StoreRefused
from penstock.store.contract import Store
from penstock.store.params import Completed, FinishJobs, NewJob, Unfinished
from penstock.worker import outage, refusals
from penstock.worker.finisher import Attached, Finisher
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


def test_what_is_on_its_way_to_the_store_is_told_as_begun_like_what_waits() -> None:
    """While a handler blocks the event loop the store would take it for never begun, and give it to another."""

    class SlowStore(FinishStore):
        def finish_jobs(self, params: FinishJobs) -> Any:
            async def answer() -> list[int]:
                started.set()
                await go_on.wait()
                return []

            return answer()

    async def story(finisher: Finisher) -> None:
        finisher.completed(Completed(1, 11))
        finisher.unfinished(msgspec.structs.replace(released(2), started_at=12))
        await started.wait()
        finisher.completed(Completed(3, 13))
        assert sorted(finisher.starts()) == [(1, 11), (2, 12), (3, 13)]
        go_on.set()
        await finisher.flush()
        assert finisher.starts() == []

    started, go_on = asyncio.Event(), asyncio.Event()
    assert with_finisher(SlowStore(), story) == []


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
                finisher.unfinished(released(token))

            return fail

        finisher.completed(success(1))
        for token in (2, 3):
            finisher.after(token, lambda token=token: told.append(f"{token} is done"))  # type: ignore[misc]
            finisher.completed(success(token), with_follow_up(token), refused(token))
        finisher.unfinished(released(4))
        finisher.unfinished(msgspec.structs.replace(released(5), member="the-id", error="odd"))
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
        finisher.completed(success(1))
        while store.troubles:
            await asyncio.sleep(0)
        for token in (2, 3):  # While the first waits for its next try.
            finisher.completed(success(token))
        await finisher.flush()
        finisher.completed(success(4))
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
        finisher = Finisher(cast(Store, store), "default", lambda error: None)
        finisher.completed(success(1))
        await asyncio.wait_for(finisher.run(), 30)

    with pytest.raises(RecursionError, match="a defect"):
        asyncio.run(main())
