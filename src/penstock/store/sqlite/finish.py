"""Ending attempts, fenced: every statement goes through the lease of its token, so a lost token changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from penstock.domain.job import StateCode
from penstock.store import workflows
from penstock.store.endings import Ending, ending_of
from penstock.store.params import Completed, FinishJobs, History, SaveProgress, StartJobs
from penstock.store.sqlite.enqueue import enqueue_jobs
from penstock.store.sqlite.gates import release_completed, release_ended
from penstock.store.sqlite.tx import Tx, as_json
from penstock.store.sqlite.workflows import carry_out

log = logging.getLogger("penstock.store")


def finish_jobs(tx: Tx, finish: FinishJobs) -> list[int]:
    lost: list[int] = []
    follows = finish.follow_ups or finish.workflows or workflows.has_members(finish)
    if follows or finish.unfinished:
        tokens = [done.token for done in finish.completed] + [end.token for end in finish.unfinished]
        lost = _lost(tx, tokens)
        if follows:
            _follow(tx, finish, set(tokens).difference(lost), set(tx.array("cancelled_tokens", tokens=as_json(tokens))))
    for keep, run in groupby(finish.completed, key=attrgetter("keep")):
        lost += _complete(tx, keep, list(run), finish.history)
    if finish.unfinished:
        end_attempts(tx, [ending_of(end) for end in finish.unfinished], finish.history)
    return sorted(set(lost))


def _follow(tx: Tx, finish: FinishJobs, current: set[int], cancelled: set[int]) -> None:
    """What is stored because these attempts end: follow-ups, workflows, and what comes next in theirs."""
    held = current - cancelled
    enqueue_jobs(tx, [job for token, job in finish.follow_ups if token in held])
    for token, workflow in finish.workflows:
        if token in held:
            carry_out(tx, workflows.add(workflow))
    ended = workflows.ended_of(finish, held, cancelled)
    if ended:
        carry_out(tx, workflows.note_ended(ended))


def _complete(tx: Tx, keep: bool | int, run: list[Completed], history: History) -> list[int]:
    """Store successes; the tokens that were lost, which are only looked for when some did not match."""
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
        completed=StateCode.COMPLETED,
        cancelled=StateCode.CANCELLED,
        keep=None if isinstance(keep, bool) else keep,
        remove=remove,
    )
    details = {
        one.token: (one.result, one.progress) for one in run if one.result is not None or one.progress is not None
    }
    if details and stored:
        tx.change("save_results", details=as_json(details))
    lost = []
    if stored < len(run):
        tokens = [success.token for success in run]
        lost = _lost(tx, tokens)
        if not remove:
            _tell_ended(tx, tokens)
    tx.change("delete_completed_leases", done=done)
    release_completed(tx, done)
    return lost


def end_attempts(tx: Tx, endings: Sequence[Ending], history: History) -> None:
    """Return the jobs that will be tried again, and end the others."""
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
    ended = tx.change("end_jobs", rows=rows, now=tx.now, cancelled=StateCode.CANCELLED)
    if ended < sum(end.final and not end.remove for end in endings):
        _tell_ended(tx, [end.token for end in endings])
    tx.change("explain_ended_jobs", rows=rows)
    tx.change("delete_leases", rows=rows)
    release_ended(tx, rows, endings)


def _tell_ended(tx: Tx, tokens: list[int]) -> None:
    """Those that a hand in the tables has given an end before: it stays, and stops nobody else's."""
    ended = tx.array("ended_before", tokens=as_json(tokens), now=tx.now)
    if ended:
        log.error("jobs had an end before their attempts ended, which stays as it is: %s", ", ".join(ended))


def remove_jobs(tx: Tx, seqs: str) -> int:
    """Remove ended jobs and all that is kept of them. `seqs` is a JSON array."""
    if seqs == "[]":
        return 0
    tx.change("delete_history", seqs=seqs)
    tx.change("delete_outcomes", seqs=seqs)
    tx.change("delete_once", seqs=seqs)
    return tx.change("delete_jobs", seqs=seqs)


def start_jobs(tx: Tx, start: StartJobs) -> list[int]:
    tx.change("start_jobs", starts=as_json(start.starts))
    return _lost(tx, [token for token, _ in start.starts])


def save_progress(tx: Tx, save: SaveProgress) -> list[int]:
    tx.change("save_progress", progress=as_json(save.progress))
    return _lost(tx, [token for token, _ in save.progress])


def _lost(tx: Tx, tokens: list[int]) -> list[int]:
    return tx.array("lost_tokens", tokens=as_json(tokens))
