"""Stores outcomes in batches: at once when idle, and whatever gathers while the last batch is on its way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from penstock.domain.errors import CommitUncertain, StoreError
from penstock.domain.job import State
from penstock.observe.redaction import told
from penstock.observe.trouble import Trouble
from penstock.observe.words import counted
from penstock.store.call import Call
from penstock.store.contract import Store
from penstock.store.params import Claim, Completed, FinishJobs, History, NewJob, NewWorkflow, Unfinished
from penstock.worker.outage import FATAL, Patience
from penstock.worker.refusals import is_refusal, parts_of, plainer

log = logging.getLogger("penstock.worker")


class Attached(NamedTuple):
    """What is stored with a success."""

    follow_ups: Sequence[tuple[int, NewJob]] = ()
    workflows: Sequence[tuple[int, NewWorkflow]] = ()

    def finish(self, done: Completed, history: History, transaction: object) -> FinishJobs:
        """The success alone, in this transaction."""
        return FinishJobs([done], (), self.follow_ups, history, transaction, self.workflows)


NOTHING = Attached()
"""Most jobs end with nothing else to store, and then nothing is made for each of them."""


Refused = Callable[[Exception], None]
After = tuple[int, Callable[[], None] | None, Callable[[], None] | None]
"""The token of an outcome, what to call when it is stored, and what when it is refused."""
NOBODY: Mapping[int, Refused] = {}


class Finisher:
    """Holds outcomes until they are stored. Nothing is reported as done before that."""

    def __init__(self, store: Store, history: History, failed: Callable[[BaseException], None],
                 trouble: Trouble | None = None) -> None:  # fmt: skip
        self._store = store
        self._history: History = history
        self._failed = failed
        self._trouble = trouble or Trouble(log)
        self._completed: list[Completed] = []
        self._unfinished: list[Unfinished] = []
        self._sent = FinishJobs()
        """What is on its way to the store."""
        self._follow_ups: list[tuple[int, NewJob]] = []
        self._workflows: list[tuple[int, NewWorkflow]] = []
        self._suspects: dict[int, Refused] = {}
        """Successes with which more is stored, and whom to tell if the store does not take that."""
        self._after: list[After] = []
        self._wake = asyncio.Event()
        self._flushed = asyncio.Event()
        self._flushed.set()
        self._settling: set[asyncio.Task[None]] = set()
        self._apart: dict[int, Claim] = {}
        self.lost = 0
        self._failed_late: set[int] = set()
        """Successes of this batch that have failed after all."""
        self._late: list[Patience] = []
        """Of batches that had to wait and are stored now, while what gathered behind them is not yet."""
        self._stored_late = 0
        self._broken = False
        """Whether the store has failed for good."""

    def completed(self, done: Completed, attached: Attached = NOTHING, refused: Refused | None = None) -> None:
        """A success. `refused` is told when the store will never take what is attached: then nothing is stored."""
        self._completed.append(done)
        if refused is not None:
            self._follow_ups += attached.follow_ups
            self._workflows += attached.workflows
            self._suspects[done.token] = refused
        self._wake.set()

    def unfinished(self, end: Unfinished) -> None:
        claim = self._apart.get(end.token)
        if claim is not None:
            after = [one for one in self._after if one[0] == end.token]
            self._after = [one for one in self._after if one[0] != end.token]
            self._begin(self._end_apart(claim, end, after))
            return
        self._unfinished.append(end)
        self._wake.set()

    def after(self, token: int, then: Callable[[], None] | None, dropped: Callable[[], None] | None = None) -> None:
        """Call `then` when the outcome of this token, which is handed in next, is stored; `dropped` if it is refused,
        because the job was taken from this worker.
        """
        self._after.append((token, then, dropped))

    @property
    def waiting(self) -> int:
        """Outcomes that are not stored yet."""
        return len(self._completed) + len(self._unfinished) + len(self._settling)

    @property
    def unstored(self) -> int:
        """With those that are on their way."""
        return self.waiting + _jobs_in(self._sent)

    def starts(self) -> list[tuple[int, int]]:
        """Tokens whose outcome is not stored yet, and when they began. From any thread, while the loop is blocked: then
        what is on its way stays there.
        """
        sent = self._sent
        ended: list[Completed | Unfinished] = [
            *self._completed, *self._unfinished, *sent.completed, *sent.unfinished,
        ]  # fmt: skip
        return [(end.token, end.started_at) for end in ended if end.started_at is not None]

    async def run(self) -> None:
        try:
            await self._store_batches()
        finally:
            for task in self._settling:
                task.cancel()

    async def _store_batches(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._flushed.clear()
            batch = self._sent = FinishJobs(
                self._completed, self._unfinished, self._follow_ups, self._history, workflows=self._workflows
            )
            after, self._after = self._after, []
            suspects, self._suspects = self._suspects, {}
            self._completed, self._unfinished, self._follow_ups, self._workflows = [], [], [], []
            if batch.completed or batch.unfinished:
                lost = self._refused(await self._store_batch(batch, suspects))
                after = [one for one in after if one[0] not in self._failed_late] if self._failed_late else after
                self._failed_late.clear()
                self._tell(after, lost)
            self._sent = FinishJobs()
            if not (self._completed or self._unfinished):
                self._flushed.set()

    def _tell(self, after: Sequence[After], lost: Collection[int]) -> None:
        for token, then, dropped in after:
            call = then if token not in lost else None if self._broken else dropped
            if call is not None:
                call()

    async def _store_batch(self, batch: FinishJobs, suspects: Mapping[int, Refused] = NOBODY) -> Collection[int]:
        """Try until the store has it: an outage of the store loses no outcome. Answers the tokens that were lost."""
        patience = Patience(self._trouble.part())
        waited = sent_before = False
        while True:
            try:
                lost: Collection[int] = await self._store.finish_jobs(batch)
                break
            except Exception as error:
                if (suspects or any(map(plainer, batch.unfinished))) and is_refusal(error):
                    return await self._store_apart(batch, suspects, error)
                if not isinstance(error, StoreError):
                    raise
                if isinstance(error, FATAL):
                    self._broken = True
                    self._failed(error)
                    return {*(done.token for done in batch.completed), *(end.token for end in batch.unfinished)}
                waited, sent_before = True, sent_before or isinstance(error, CommitUncertain)
                await patience.wait(f"outcomes of {counted(_jobs_in(batch), 'job')} not stored yet", error)
        lost = () if sent_before else lost  # After a first try, those that look lost were stored by it.
        if waited:
            self._late.append(patience)
        if self._late:
            self._stored_late += _jobs_in(batch) - len(lost)
            if not waited or not (self._completed or self._unfinished):
                self._tell_over()
        return lost

    def _tell_over(self) -> None:
        """The outage is over for the outcomes: those of the batches that waited, and those that gathered behind."""
        late, self._late = self._late, []
        stored, self._stored_late = self._stored_late, 0
        for patience in late[1:]:
            patience.over()
        late[0].over(f"outcomes of {counted(stored, 'job')} stored")

    async def _store_apart(
        self, batch: FinishJobs, suspects: Mapping[int, Refused], error: Exception
    ) -> Collection[int]:
        """The store will never take this batch: find out because of whom, and let the others not suffer for it."""
        if len(batch.completed) + len(batch.unfinished) == 1:
            return await self._give_up(batch, suspects, error)
        lost: list[int] = []
        for part in parts_of(batch, suspects):
            mine = {done.token: suspects[done.token] for done in part.completed if done.token in suspects}
            lost += await self._store_batch(part, mine)
        return lost

    async def _give_up(self, batch: FinishJobs, suspects: Mapping[int, Refused], error: Exception) -> Collection[int]:
        """This one cannot be stored as it is. A success has failed after all; a failure is stored with less of it: its
        workflow is told by the leader then.
        """
        for done in batch.completed:
            self._failed_late.add(done.token)
            suspects[done.token](error)
        if batch.unfinished:
            log.error("the end of a job cannot be stored as it is: %s", told(error))
            ends = [end for end in map(plainer, batch.unfinished) if end is not None]
            return await self._store_batch(FinishJobs(unfinished=ends, history=self._history))
        return ()

    def _refused(self, lost: Collection[int]) -> Collection[int]:
        if lost and not self._broken:
            self.lost += len(lost)
            log.warning("%d outcomes were refused: their jobs had been taken from this worker", len(lost))
        return lost

    async def flush(self) -> None:
        """Wait until everything handed in so far is stored."""
        while self.waiting or not self._flushed.is_set():
            if self._settling:
                await asyncio.wait(set(self._settling))
            await self._flushed.wait()
            await asyncio.sleep(0)

    # Completions in transactions of the handlers' own

    def finish_in(self, done: Completed, attached: Attached, transaction: object) -> Call[list[int]]:
        """The completion as a part of this transaction."""
        return self._store.finish_jobs(attached.finish(done, self._history, transaction))

    def settle(self, claim: Claim, decide: Callable[[State | None], None]) -> None:
        """Find out whether the attempt was ended by its own transaction, and let `decide` know the state then.

        What it hands in is stored apart from all others: a transaction that is still open would hold them all up.
        """
        self._begin(self._settle(claim, decide))

    def _begin(self, settling: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(settling)
        self._settling.add(task)
        task.add_done_callback(self._settled)

    def _settled(self, task: asyncio.Task[None]) -> None:
        self._settling.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._failed(error)

    async def _settle(self, claim: Claim, decide: Callable[[State | None], None]) -> None:
        state = await self._state_after(claim)
        self._apart[claim.token] = claim
        try:
            decide(state)
        finally:
            del self._apart[claim.token]
        if state is not None:
            # The token is gone and this changes nothing; every attempt ends with a word to the store.
            await self._store_batch(FinishJobs([Completed(claim.token, 0)], history=self._history))

    async def _state_after(self, claim: Claim) -> State | None:
        """How the attempt was ended by its own transaction; None if it was not. A job that is gone was completed:
        its options say that it is not kept.
        """
        patience = Patience(self._trouble.part())
        while True:
            try:
                job = await self._store.read_job(claim.id)
                patience.over()
                break
            except StoreError as error:
                if isinstance(error, FATAL):
                    raise
                await patience.wait("not known yet whether a handler's transaction was committed", error)
        if job is None:
            return State.COMPLETED
        ended = job.attempt == claim.attempt and job.state in (State.COMPLETED, State.CANCELLED)
        return job.state if ended else None

    async def _end_apart(self, claim: Claim, end: Unfinished, after: list[After]) -> None:
        lost = await self._store_batch(FinishJobs(unfinished=[end], history=self._history))
        if lost and not self._broken and await self._state_after(claim) is not None:
            log.warning("%s %s: its own transaction was committed after its handler had ended", claim.type, claim.id)
        else:
            self._tell(after, self._refused(lost))


def _jobs_in(batch: FinishJobs) -> int:
    return len(batch.completed) + len(batch.unfinished)
