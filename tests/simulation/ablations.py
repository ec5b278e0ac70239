"""Safeguards that can be taken away: without any of them, the seeds must find a broken promise.

Each puts a broken piece in the place of a real one for the length of a block. `caught_by` is a seed that finds it,
kept so that a test can show it quickly; `make ablate` looks for the first one.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import msgspec

from penstock.domain.figures.series import pack
from penstock.domain.flow.pauses import Pauses
from penstock.domain.job import Event
from penstock.observe.events import Ended, EndedBatch
from penstock.store import contract as p
from penstock.store.sql import endings
from penstock.store.sql.engine import Engine
from penstock.store.sql.gating import Seen
from penstock.store.sql.operations import duties, once, schedules, workers
from penstock.store.sql.steps import Steps, at_once, run
from penstock.store.sqlite.connection import statements, tx
from penstock.store.sqlite.connection.transaction import SqliteTransaction
from penstock.store.sqlite.connection.tx import Tx, as_json
from penstock.store.sqlite.hot import claim, enqueue, finish, gates
from penstock.worker.claiming.budget import Budget
from penstock.worker.finishing import finisher
from penstock.worker.finishing.finisher import Finisher
from tests.simulation.run import Ablation


@dataclass(frozen=True, slots=True)
class Safeguard:
    """What protects a promise, and how to take it away."""

    name: str
    without: Ablation
    caught_by: int


def _replaced(*places: tuple[object, str], by: Any) -> Ablation:
    """The same piece in the place of others."""

    @contextmanager
    def block() -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name in places:
                stack.enter_context(mock.patch.object(owner, name, by))
            yield

    return block


def _nothing_done(owner: object, name: str, answer: object) -> Ablation:
    """An operation that only says that there was nothing to do."""
    return _replaced((owner, name), by=at_once(lambda *_: answer))


def _without_words(words: str, *names: str, instead: str = "0") -> Ablation:
    """Statements in which these words mean nothing."""

    def sql(name: str) -> str:
        text = statements.sql(name)
        return text.replace(words, instead) if name in names else text

    return _replaced((tx, "sql"), by=sql)


# Attempts


@contextmanager
def _finish_by_job() -> Iterator[None]:
    """Whoever once held a job may end it, as in queues that only look at its id."""
    jobs: dict[int, str] = {}
    real_claim, real_finish = claim.claim_jobs, finish.finish_jobs

    def claim_jobs(tx: Tx, params: p.ClaimJobs) -> p.Claimed:
        claimed = real_claim(tx, params)
        jobs.update((job.token, job.id) for job in claimed.jobs)
        return claimed

    def current(tx: Tx, token: int) -> int:
        query = "SELECT token FROM penstock_lease JOIN penstock_job USING (seq) WHERE id = ?"
        found: int | None = tx.db.execute(query, (jobs.get(token, ""),)).get
        return token if found is None else found

    def finish_jobs(tx: Tx, params: p.FinishJobs, engine: Engine) -> p.Finished:
        replace = msgspec.structs.replace
        completed = [replace(one, token=current(tx, one.token)) for one in params.completed]
        unfinished = [replace(one, token=current(tx, one.token)) for one in params.unfinished]
        follow_ups = [(current(tx, token), job) for token, job in params.follow_ups]
        params = replace(params, completed=completed, unfinished=unfinished, follow_ups=follow_ups)
        return real_finish(tx, params, engine)

    with mock.patch.object(claim, "claim_jobs", claim_jobs), mock.patch.object(finish, "finish_jobs", finish_jobs):
        yield


def _crash_for_free(*args: Any) -> endings.Ending:
    return endings.ending_of_lost(*args)._replace(give_back=1)


def _release_charged(end: p.Unfinished) -> endings.Ending:
    found = endings.ending_of(end)
    return found._replace(give_back=0) if end.event is Event.RELEASE else found


def _follow_ups_of_anybody(tx: Tx, params: p.FinishJobs, engine: Engine) -> p.Finished:
    enqueue.enqueue_jobs(tx, [job for _, job in params.follow_ups])
    return _real_finish(tx, msgspec.structs.replace(params, follow_ups=()), engine)


_real_finish = finish.finish_jobs


def _left_out(self: SqliteTransaction, operation: Callable[[Tx], Any]) -> p.Finished:
    return p.Finished()


async def _given_up(self: Finisher, sent: p.FinishJobs, *_: object, **__: object) -> p.Finished:
    """Outcomes are handed in once: what an outage does to them is not seen to."""
    try:
        return await self._store.finish_jobs(sent)
    except Exception:
        return p.Finished([one.token for one in sent.ends])


async def _taken_for_stored(*_: object) -> p.Finished:
    """Whatever looks lost after an uncertain commit was stored by it, as it was sent."""
    return p.ALL_STORED


def _as_sent(batch: EndedBatch, one: Ended) -> Event:
    return one.end.event


# Enqueueing


def _always_new(page: p.Page) -> Steps[None]:
    yield from run("insert_page", book=None, number=page.number, tally=pack(page.tally))


def _every_enqueue_stored(tx: Tx, jobs: list[p.NewJob], *more: Any) -> list[p.Enqueued]:
    """An id that is stored already is taken for another job's."""
    known = set(tx.array("stored_before", ids=as_json([job.id for job in jobs]), last_job=2**62))
    fresh = [
        msgspec.structs.replace(job, id=str(uuid.uuid5(uuid.UUID(job.id), str(tx.now)))) if job.id in known else job
        for job in jobs
    ]
    stored = _real_enqueue(tx, fresh, *more)
    return [
        p.Enqueued(job.id, True) if new.id == one.id else new for job, one, new in zip(jobs, fresh, stored, strict=True)
    ]


_real_enqueue = enqueue.enqueue_jobs

# Leading


def _lead_for_all(lead: p.LeadStore) -> Steps[p.Leadership]:
    found = yield from _real_lead(lead)
    return found if lead.lease is None else msgspec.structs.replace(found, acting=True, free_in=lead.lease)


_real_lead = duties.lead_store


# Limits


def _always_room(tx: Tx, names: Iterable[str], wanted: int = 0) -> dict[str, Seen]:
    found = _real_read_gates(tx, names, wanted)
    for one in found.values():
        one.room = one.most
    return found


_real_read_gates = gates.read_gates


def _hold_without_starts(tx: Tx, found: Iterable[Seen], holds: dict[int, list[int]]) -> None:
    _real_hold(tx, [one for one in found if one.period is None], holds)


_real_hold = gates._hold


SAFEGUARDS: dict[str, Safeguard] = {
    one.name: one
    for one in (
        Safeguard("the fence at finish", _finish_by_job, 40),
        Safeguard("one job per id", _replaced((enqueue, "enqueue_jobs"), by=_every_enqueue_stored), 4),
        Safeguard("one job per unique key", _replaced((enqueue, "_taken"), by=lambda *_: None), 0),
        Safeguard(
            "recovery of lost workers' jobs",
            _nothing_done(workers, "recover_jobs", p.Recovered([], [])),
            0,
        ),
        Safeguard("a crash costs an attempt", _replaced((workers, "ending_of_lost"), by=_crash_for_free), 0),
        Safeguard("a release costs none", _replaced((finish, "ending_of"), by=_release_charged), 27),
        Safeguard(
            "a cancel wins",
            _without_words(
                "lease.cancel",
                "complete_jobs",
                "end_jobs",
                "return_jobs",
                "ready_returned_jobs",
                "schedule_returned_jobs",
                "explain_ended_jobs",
                "record_unfinished",
                "save_results",
            ),
            3,
        ),
        Safeguard("the fence at follow-ups", _replaced((finish, "finish_jobs"), by=_follow_ups_of_anybody), 40),
        Safeguard("completion in the job's transaction", _replaced((SqliteTransaction, "join"), by=_left_out), 0),
        Safeguard("outcomes kept in an outage", _replaced((Finisher, "_store_batch"), by=_given_up), 8),
        Safeguard(
            "an uncertain outcome is asked for", _replaced((finisher, "what_is_true"), by=_taken_for_stored), 145
        ),
        Safeguard("an end is told as it is stored", _replaced((EndedBatch, "event_of"), by=_as_sent), 1),
        Safeguard("a page counts once", _replaced((workers, "book_page"), by=_always_new), 7),
        Safeguard("start timeout", _nothing_done(duties, "give_back_jobs", p.GivenBack([], [])), 3),
        Safeguard("one leader", _replaced((duties, "lead_store"), by=_lead_for_all), 0),
        Safeguard(
            "the check of the leader's term",
            _replaced(
                (duties, "check_term"),
                (workers, "check_term"),
                (schedules, "check_term"),
                by=at_once(lambda *_: None),
            ),
            8,
        ),
        Safeguard(
            "the revision of a schedule",
            _without_words("AND revision = new.value ->> 'revision'", "update_schedules", instead=""),
            2,
        ),
        Safeguard("a pause holds", _replaced((tx, "Pauses"), by=lambda *_: Pauses()), 3),
        Safeguard("room at a gate", _replaced((gates, "read_gates"), by=_always_room), 5),
        Safeguard("starts count for a period", _replaced((gates, "_hold"), by=_hold_without_starts), 5),
        Safeguard(
            "tenants take turns", _replaced((claim, "take_turns"), by=lambda tx, asked, lanes, jobs, read: jobs), 2
        ),
        Safeguard("whoever makes room says so", _replaced((gates, "wake_gates"), by=lambda *_: None), 5),
        Safeguard("the order of a key", _replaced((gates, "room_for"), by=lambda job, gate, first: gate.room > 0), 20),
        Safeguard("a job is raised with its row", _without_words(":raised", "raise_job", instead="priority"), 4),
        Safeguard("an effect is begun once", _replaced((once, "begin_once"), by=at_once(lambda *_: p.Once("run"))), 0),
        Safeguard("resources are counted", _replaced((Budget, "free"), by=lambda _: None), 2),
        Safeguard("a type is limited in a worker", _replaced((Budget, "caps"), by=lambda *_: ()), 32),
        Safeguard(
            "the leader settles workflows",
            _nothing_done(duties, "settle_workflows", p.Changed(0)),
            3,
        ),
        Safeguard("a step waits for every job before it", _without_words("open - :ended", "count_down"), 3),
        Safeguard("a step waits for every step before it", _without_words("pending - 1", "unblock_steps"), 50),
        Safeguard("a workflow stops", _without_words(":stop", "stop_workflow"), 3),
    )
}
