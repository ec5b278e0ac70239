"""Ending attempts, fenced: every statement goes through the lease of its token, so a lost token changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from penstock.domain.job import Event
from penstock.store.contract import (
    ALL_STORED,
    Completed,
    EndedAttempts,
    Finished,
    FinishJobs,
    History,
    SaveProgress,
    StartJobs,
)
from penstock.store.sql.endings import Ending, ending_of
from penstock.store.sql.engine import Engine
from penstock.store.sql.operations.figures import book_happened
from penstock.store.sql.steps import Steps, run
from penstock.store.sql.workflows.finishing import follow, has_members
from penstock.store.sqlite.connection.tx import Tx, as_json
from penstock.store.sqlite.hot.gates import release_completed, release_ended

log = logging.getLogger("penstock.store")


def finish_jobs(tx: Tx, finish: FinishJobs, engine: Engine) -> Finished:
    lost: list[int] = []
    cancelled: list[int] = []
    follows = finish.follow_ups or finish.workflows or has_members(finish)
    if follows or finish.unfinished:
        tokens = [done.token for done in finish.completed] + [end.token for end in finish.unfinished]
        lost = _lost(tx, tokens)
        if follows:
            cancels = set(tx.array("cancelled_tokens", tokens=as_json(tokens)))
            tx.carry_out(follow(engine, finish, set(tokens).difference(lost, cancels), cancels))
    for keep, alike in groupby(finish.completed, key=attrgetter("keep")):
        gone, stopped = _complete(tx, keep, list(alike), finish.history)
        lost += gone
        cancelled += stopped
    if finish.unfinished:
        cancelled += end_attempts(tx, [ending_of(end) for end in finish.unfinished], finish.history)
    happened = engine.happened
    if happened:
        tx.carry_out(book_happened(happened))
    return Finished(sorted(set(lost)), cancelled, happened) if lost or cancelled or happened else ALL_STORED


def _complete(tx: Tx, keep: bool | int, run: list[Completed], history: History) -> tuple[list[int], list[int]]:
    """Store successes; the tokens that were lost, and those cancelled, are only looked for if some are missing."""
    done = as_json({success.token: success.started_at for success in run})
    remove = keep is False or history in ("failures", "none")
    if history == "all":
        tx.change("record_completed", done=done, now=tx.now)
    if remove:
        remove_jobs(tx, tx.value("completed_to_remove", done=done))
    stored = tx.change(
        "complete_jobs",
        done=done,
        now=tx.now,
        keep=None if isinstance(keep, bool) else keep,
        remove=remove,
    )
    details = {
        one.token: (one.result, one.progress) for one in run if one.result is not None or one.progress is not None
    }
    if details and stored:
        tx.change("save_results", details=as_json(details))
    lost: list[int] = []
    cancelled: list[int] = []
    if stored < len(run):
        tokens = [success.token for success in run]
        lost = _lost(tx, tokens)
        if not remove:
            _tell_ended(tx, tokens)
    if tx.change("delete_completed_leases", done=done) < len(run) - len(lost):
        cancelled = _end_cancelled(tx, [success.token for success in run])
    release_completed(tx, done)
    return lost, cancelled


def end_attempts(tx: Tx, endings: Sequence[Ending], history: History) -> list[int]:
    """Return the jobs that will be tried again, and end the others. Answers the tokens of those that have ended
    cancelled instead.
    """
    rows = as_json(endings)
    if history != "none":
        tx.change("record_unfinished", rows=rows, now=tx.now)
    if any(end.remove for end in endings):
        remove_jobs(tx, tx.value("ended_to_remove", rows=rows))
    if not all(end.final for end in endings):
        tx.change("return_jobs", rows=rows, now=tx.now)
        if tx.change("ready_returned_jobs", rows=rows, now=tx.now) + tx.change(
            "schedule_returned_jobs", rows=rows, now=tx.now
        ):
            tx.wake = True
    ended = tx.change("end_jobs", rows=rows, now=tx.now)
    if ended < sum(end.final and not end.remove for end in endings):
        _tell_ended(tx, [end.token for end in endings])
    tx.change("explain_ended_jobs", rows=rows)
    cancelled: list[int] = []
    if tx.change("delete_leases", rows=rows) < len(endings):
        cancelled = _end_cancelled(tx, [end.token for end in endings if end.event != Event.CANCEL])
        _end_cancelled(tx, [end.token for end in endings if end.event == Event.CANCEL])
    release_ended(tx, rows, endings)
    return cancelled


def _end_cancelled(tx: Tx, tokens: list[int]) -> list[int]:
    return [token for (token,) in tx.run("delete_cancelled_leases", tokens=as_json(tokens))]


def _tell_ended(tx: Tx, tokens: list[int]) -> None:
    """Those that a hand in the tables has given an end before: it stays, and stops nobody else's."""
    ended = tx.array("ended_before", tokens=as_json(tokens), now=tx.now)
    if ended:
        log.error("jobs had an end before their attempts ended, which stays as it is: %s", ", ".join(ended))


def record_ends(tx: Tx, ids: Sequence[str], event: Event, reason: str, error: str | None = None) -> None:
    """Jobs that have just ended where they waited."""
    tx.change("record_ends", ids=as_json(ids), now=tx.now, event=str(event), reason=reason, error=error)


def remove_jobs(tx: Tx, seqs: str) -> int:
    """Remove ended jobs and all that is kept of them. `seqs` is a JSON array."""
    if seqs == "[]":
        return 0
    tx.change("delete_history", seqs=seqs)
    tx.change("delete_outcomes", seqs=seqs)
    tx.change("delete_once", seqs=seqs)
    return tx.change("delete_jobs", seqs=seqs)


def ended_attempts(asked: EndedAttempts) -> Steps[list[Event | None]]:
    found = yield from run("ended_attempts", session=asked.session, attempts=list(asked.attempts))
    return [event and Event(event) for (event,) in found]


def start_jobs(tx: Tx, start: StartJobs) -> list[int]:
    tx.change("start_jobs", starts=as_json(start.starts))
    return _lost(tx, [token for token, _ in start.starts])


def save_progress(tx: Tx, save: SaveProgress) -> list[int]:
    tx.change("save_progress", progress=as_json(save.progress))
    return _lost(tx, [token for token, _ in save.progress])


def _lost(tx: Tx, tokens: list[int]) -> list[int]:
    return tx.array("lost_tokens", tokens=as_json(tokens))
