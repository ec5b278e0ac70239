"""Stores outcomes in batches: at once when idle, and whatever gathers while the last batch is on its way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from time import monotonic
from typing import Any, NamedTuple

from penstock.domain.errors import CommitUncertain, StoreError
from penstock.domain.job import State
from penstock.observe.events import Ended, Quiet
from penstock.observe.redaction import told
from penstock.observe.trouble import Trouble
from penstock.observe.words import counted
from penstock.store.call import Call
from penstock.store.contract import (
    ALL_STORED,
    Claim,
    Completed,
    Finished,
    FinishJobs,
    History,
    NewJob,
    NewWorkflow,
    Store,
    Unfinished,
)
from penstock.worker.finishing.answers import together, what_is_true
from penstock.worker.finishing.refusals import is_refusal, parts_of, plainer
from penstock.worker.liveness.outage import FATAL, Patience

TIMED_MAX = 16
"""Of the successes that gather for one batch the first are timed, and stand for the others."""

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
Tell = Callable[[Sequence[Ended], Finished, Quiet | None], None]
NOBODY: Mapping[int, Refused] = {}
FREE = nullcontext()
"""Nobody has to wait."""


class Batch(NamedTuple):
    """What goes to the store together, and by the tokens of its outcomes what of them concerns others."""

    sent: FinishJobs
    session: int
    """Of the worker that had these attempts."""
    claims: Sequence[Claim]
    """First those of successes, in their order."""
    seconds: Sequence[float]
    """How long the first of the successes took."""
    told: dict[int, Ended]
    """Attempts that are told of when the store has answered: all that failed, and those that succeeded if wanted."""
    after: dict[int, Callable[[], None]]
    """What to call when an outcome is stored as it was sent."""
    gone: set[int]
    """The tokens of successes that the store refused for good: they have failed after all, and come again as that."""


class Finisher:
    """Holds outcomes until they are stored. Nothing is reported as done before that."""

    def __init__(self, store: Store, history: History, failed: Callable[[BaseException], None],
                 session: Callable[[], int], tell: Tell, trouble: Trouble | None = None) -> None:  # fmt: skip
        self._store = store
        self._history: History = history
        self._failed = failed
        self._session = session
        self._hand_on = tell
        self._trouble = trouble or Trouble(log)
        self._completed: list[Completed] = []
        self._unfinished: list[Unfinished] = []
        self._sent = FinishJobs()
        """What is on its way to the store."""
        self._follow_ups: list[tuple[int, NewJob]] = []
        self._workflows: list[tuple[int, NewWorkflow]] = []
        self._suspects: dict[int, Refused] = {}
        """Successes with which more is stored, and whom to tell if the store does not take that."""
        self._claims: list[Claim] = []
        self._seconds: list[float] = []
        self._unfinished_claims: list[Claim] = []
        self._telling: dict[int, Ended] = {}
        self._after: dict[int, Callable[[], None]] = {}
        self._wake = asyncio.Event()
        self._flushed = asyncio.Event()
        self._flushed.set()
        self._settling: set[asyncio.Task[None]] = set()
        self._apart: set[int] = set()
        self._turn_apart = asyncio.Lock()
        """One at a time, and with each try the next: one that waits for an open transaction keeps a connection busy."""
        self.lost = 0
        self._late: list[Patience] = []
        """Of batches that had to wait and are stored now, while what gathered behind them is not yet."""
        self._stored_late = 0
        self._broken = False
        """Whether the store has failed for good."""

    def completed(self, claim: Claim, done: Completed, started: float, attached: Attached = NOTHING,
                  refused: Refused | None = None) -> None:  # fmt: skip
        """A success, of what has `started` then by the monotonic clock. `refused` is told when the store will never
        take what is attached: then nothing is stored.
        """
        self._completed.append(done)
        self._claims.append(claim)
        if len(self._seconds) < TIMED_MAX:
            self._seconds.append(monotonic() - started)
        if refused is not None:
            self._follow_ups += attached.follow_ups
            self._workflows += attached.workflows
            self._suspects[done.token] = refused
        if len(self._completed) == 1:  # Whoever came first has said so, until all of them are taken.
            self._wake.set()

    def unfinished(self, claim: Claim, end: Unfinished) -> None:
        token = end.token
        if token in self._apart:
            told, after = self._telling.pop(token, None), self._after.pop(token, None)
            self._begin(self._end_apart(Batch(
                FinishJobs(unfinished=[end], history=self._history), self._session(), [claim], (),
                {} if told is None else {token: told}, {} if after is None else {token: after}, set(),
            )))  # fmt: skip
            return
        self._unfinished.append(end)
        self._unfinished_claims.append(claim)
        self._wake.set()

    def tell(self, ended: Ended) -> None:
        """Tell of this attempt, which is handed in next, when the store has answered."""
        self._telling[ended.end.token] = ended

    def after(self, token: int, then: Callable[[], None]) -> None:
        """Call this when the outcome of this token, which is handed in next, is stored as it was sent."""
        self._after[token] = then

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
        ends = (*self._completed, *self._unfinished, *self._sent.ends)
        return [(end.token, end.started_at) for end in ends if end.started_at is not None]

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
            self._sent = FinishJobs(
                self._completed, self._unfinished, self._follow_ups, self._history, workflows=self._workflows
            )
            claims = [*self._claims, *self._unfinished_claims] if self._unfinished_claims else self._claims
            batch = Batch(self._sent, self._session(), claims, self._seconds, self._telling, self._after, set())
            suspects = self._suspects
            self._completed, self._unfinished, self._follow_ups, self._workflows = [], [], [], []
            self._claims, self._seconds, self._unfinished_claims = [], [], []
            self._telling, self._after, self._suspects = {}, {}, {}
            if batch.claims:
                self._tell(batch, await self._store_batch(batch.sent, batch, suspects))
            self._sent = FinishJobs()
            if not (self._completed or self._unfinished):
                self._flushed.set()

    def _tell(self, batch: Batch, answer: Finished) -> None:
        """Who waits for the answer, and who observes. If the store has failed for good nobody knows."""
        if self._broken:
            return
        told = batch.told
        if answer.lost:
            self.lost += len(answer.lost)
            ends = {end.token: end for end in batch.sent.ends}
            told = {one.token: Ended(one, ends[one.token]) for one in batch.claims if one.token in answer.lost} | told
        quiet = _quiet(batch, told)
        if told or quiet is not None:
            self._hand_on(list(told.values()), answer, quiet)
        if batch.after:
            otherwise = {*answer.lost, *answer.cancelled}
            for token, then in batch.after.items():
                if token not in otherwise:
                    then()

    async def _store_batch(
        self, sent: FinishJobs, batch: Batch, suspects: Mapping[int, Refused] = NOBODY, uncertain: bool = False,
        turn: AbstractAsyncContextManager[Any] = FREE,
    ) -> Finished:  # fmt: skip
        """Try until the store has it: an outage of the store loses no outcome. `uncertain`: it may have it already."""
        patience = Patience(self._trouble.part())
        waited = False
        while True:
            try:
                async with turn:
                    answer = await self._store.finish_jobs(sent)
                if answer.lost and uncertain:
                    answer = await what_is_true(self._store, batch.session, sent, batch.claims, answer)
                break
            except Exception as error:
                if (suspects or any(map(plainer, sent.unfinished))) and is_refusal(error):
                    return await self._store_apart(sent, batch, suspects, uncertain, error)
                if not isinstance(error, StoreError):
                    raise
                if isinstance(error, FATAL):
                    self._broken = True
                    self._failed(error)
                    return ALL_STORED
                waited, uncertain = True, uncertain or isinstance(error, CommitUncertain)
                await patience.wait(f"outcomes of {counted(_jobs_in(sent), 'job')} not stored yet", error)
        if waited:
            self._late.append(patience)
        if self._late:
            self._stored_late += _jobs_in(sent) - len(answer.lost)
            if not waited or not (self._completed or self._unfinished):
                self._tell_over()
        return answer

    def _tell_over(self) -> None:
        """The outage is over for the outcomes: those of the batches that waited, and those that gathered behind."""
        late, self._late = self._late, []
        stored, self._stored_late = self._stored_late, 0
        for patience in late[1:]:
            patience.over()
        late[0].over(f"outcomes of {counted(stored, 'job')} stored")

    async def _store_apart(
        self, sent: FinishJobs, batch: Batch, suspects: Mapping[int, Refused], uncertain: bool, error: Exception
    ) -> Finished:
        """The store will never take this: find out because of whom, and let the others not suffer for it."""
        if len(sent.completed) + len(sent.unfinished) == 1:
            return await self._give_up(sent, batch, suspects, error)
        answers = []
        for part in parts_of(sent, suspects):
            mine = {done.token: suspects[done.token] for done in part.completed if done.token in suspects}
            answers.append(await self._store_batch(part, batch, mine, uncertain))
        return together(answers)

    async def _give_up(
        self, sent: FinishJobs, batch: Batch, suspects: Mapping[int, Refused], error: Exception
    ) -> Finished:
        """This one cannot be stored as it is. A success has failed after all; a failure is stored with less of it: its
        workflow is told by the leader then.
        """
        for done in sent.completed:
            batch.gone.add(done.token)
            batch.told.pop(done.token, None)
            batch.after.pop(done.token, None)
            suspects[done.token](error)
        if sent.unfinished:
            log.error("the end of a job cannot be stored as it is: %s", told(error))
            ends = [end for end in map(plainer, sent.unfinished) if end is not None]
            return await self._store_batch(FinishJobs(unfinished=ends, history=self._history), batch)
        return ALL_STORED

    async def flush(self) -> None:
        """Wait until everything handed in so far is stored."""
        while self.waiting or not self._flushed.is_set():
            if self._settling:
                await asyncio.wait(set(self._settling))
            await self._flushed.wait()
            await asyncio.sleep(0)

    # Completions in transactions of the handlers' own

    def finish_in(self, done: Completed, attached: Attached, transaction: object) -> Call[Finished]:
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
        self._apart.add(claim.token)
        try:
            decide(state)
        finally:
            self._apart.discard(claim.token)
        if state is not None:
            # The token is gone and this changes nothing; every attempt ends with a word to the store.
            last = FinishJobs([Completed(claim.token, 0)], history=self._history)
            await self._store_batch(last, Batch(last, self._session(), [claim], (), {}, {}, set()))

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

    async def _end_apart(self, batch: Batch) -> None:
        answer = await self._store_batch(batch.sent, batch, turn=self._turn_apart)
        [claim] = batch.claims
        state = await self._state_after(claim) if answer.lost and not self._broken else None
        if state is None:
            self._tell(batch, answer)
            return
        log.warning("%s %s: its own transaction was committed after its handler had ended", claim.type, claim.id)
        done = Ended(claim, Completed(claim.token, 0))
        self._hand_on([done], Finished(cancelled=[claim.token]) if state is State.CANCELLED else ALL_STORED, None)


def _quiet(batch: Batch, told: Mapping[int, Ended]) -> Quiet | None:
    """The successes of which nobody is told. One that could not be stored was handed in again as a failure."""
    if not batch.seconds:
        return None
    done, gone = batch.sent.completed, batch.gone
    claims = batch.claims[: len(done)]
    if not told and not gone:
        return Quiet(claims, done, batch.seconds)
    kept = [number for number, one in enumerate(done) if one.token not in told and one.token not in gone]
    timed = [batch.seconds[number] for number in kept if number < len(batch.seconds)]
    return Quiet([claims[number] for number in kept], [done[number] for number in kept], timed) if kept else None


def _jobs_in(batch: FinishJobs) -> int:
    return len(batch.completed) + len(batch.unfinished)
