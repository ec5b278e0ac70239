"""Ending attempts, fenced: every statement goes through the lease of its token, so a lost token changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

import psycopg

from penstock.domain.job import Event
from penstock.store.contract import (
    ALL_STORED,
    Claim,
    Completed,
    EndedAttempts,
    Finished,
    FinishJobs,
    Happened,
    History,
    SaveProgress,
    StartJobs,
)
from penstock.store.sql.endings import Ending, ending_of, ending_unheard
from penstock.store.sql.engine import Engine
from penstock.store.sql.happening import describe_leases, told_endings
from penstock.store.sql.operations.figures import book_happened
from penstock.store.sql.steps import Steps, run
from penstock.store.sql.workflows.finishing import follow, has_members, members_of

log = logging.getLogger("penstock.store")

_ARRAYS = ("tokens", "finals", "states", "started", "delays", "errors", "reasons", "deciders", "backs", "crashes",
           "events", "keeps", "removes", "progress", "elsewhere")  # fmt: skip


def finish_steps(finish: FinishJobs, engine: Engine, alone: bool = False) -> Steps[Finished]:
    """`alone`: each statement is a transaction of its own.

    In a transaction of the caller's, gates are left to the leader, who looks after them: they would be locked for long.
    """
    own = finish.transaction is None
    members = own and has_members(finish)
    if finish.follow_ups or finish.workflows or members:
        yield from _follow(finish, engine, members)
    parts = []
    for keep, run_ in groupby(finish.completed, key=attrgetter("keep")):
        parts.append((yield from _complete(keep, list(run_), finish.history, own, alone)))
    if finish.unfinished:
        endings = [ending_of(end) for end in finish.unfinished]
        parts.append((yield from end_attempts(endings, finish.history, own, alone)))
    happened = engine.happened
    if happened:
        yield from book_happened(happened)
    if len(parts) == 1 and not happened:
        return parts[0]
    lost = {token for part in parts for token in part.lost}
    return Finished(sorted(lost), [token for part in parts for token in part.cancelled], happened)


def _follow(finish: FinishJobs, engine: Engine, members: bool) -> Steps[None]:
    """What is stored because these attempts end: follow-ups, workflows, and what comes next in theirs.

    The workflows are locked before the leases, as whoever cancels one does. In a transaction of the caller's they are
    left to the leader: they would be locked for long.
    """
    tokens = {token for token, _ in (*finish.follow_ups, *finish.workflows)}
    if members:
        ids = dict(members_of(finish))
        tokens |= ids.keys()
        yield from run("lock_workflows", ids=sorted(set(ids.values())))
    found = yield from run("follow_up_tokens", tokens=sorted(tokens))
    held = {token for token, cancel in found if not cancel}
    cancelled = {token for token, cancel in found if cancel}
    yield from follow(engine, finish, held, cancelled, members)


def is_alone(finish: FinishJobs) -> bool:
    """Whether storing these outcomes is one statement."""
    if finish.follow_ups or finish.workflows or (finish.completed and finish.unfinished):
        return False
    return len({done.keep for done in finish.completed}) <= 1 and not has_members(finish)


def _complete(keep: bool | int, done: list[Completed], history: History, own: bool, alone: bool) -> Steps[Finished]:
    """Outcomes that are there already are looked for if the statement is not alone: then it cannot be run again."""
    tokens = [success.token for success in done]
    parameters = {
        "tokens": tokens,
        "started": [success.started_at for success in done],
        "results": [success.result for success in done],
        "progress": [success.progress for success in done],
        "keep": None if isinstance(keep, bool) else keep,
        "remove": keep is False or history in ("failures", "none"),
        "record": history == "all",
    }
    try:
        [(stored, gated, cancelled)] = yield from run("complete_jobs", **parameters, careful=not alone)
    except psycopg.errors.UniqueViolation:
        if not alone:
            raise
        [(stored, gated, cancelled)] = yield from run("complete_jobs", **parameters, careful=True)
    if gated and own:
        yield from _release(tokens, [], alone)
    return _answered(tokens, tokens if stored is None else stored, cancelled)


def _answered(tokens: Sequence[int], found: Sequence[int] | None, cancelled: list[int] | None) -> Finished:
    if found is tokens and cancelled is None:
        return ALL_STORED
    return Finished(_missing(tokens, found), cancelled or [])


def _missing(tokens: Sequence[int], found: Sequence[int] | None) -> list[int]:
    there = set(found or ())
    return [token for token in tokens if token not in there]


def _release(tokens: list[int], unused: list[int], alone: bool) -> Steps[None]:
    """Free the gates that these attempts held. If their ends are committed, no error may say that they are not: what is
    held by nobody is freed by the leader.
    """
    try:
        yield from run("release_holds", tokens=tokens, unused=unused)
    except psycopg.Error as error:
        if not alone:
            raise
        log.warning("outcomes are stored, and the limits that their jobs held are left to the leader: %s", error)


def end_attempts(endings: Sequence[Ending], history: History, own: bool = True, alone: bool = False) -> Steps[Finished]:
    """Return the jobs that will be tried again, and end the others."""
    columns = dict(zip(_ARRAYS, (list(column) for column in zip(*endings, strict=True)), strict=True))
    [(found, gated, cancelled, _)] = yield from run("end_attempts", **columns, record=history != "none")
    if gated and own:
        unused = [end.token for end in endings if end.give_back and end.started_at is None]
        yield from _release([end.token for end in endings], unused, alone)
    return _answered([end.token for end in endings], found, cancelled)


def end_cancelled(jobs: Sequence[Claim]) -> Steps[list[Happened]]:
    """A person has cancelled these while a claim was at it: its worker is not told of them, and they end."""
    happened = yield from end_and_tell([ending_unheard(job.token) for job in jobs])
    limited = [job.id for job in jobs if job.gates]
    if limited:
        yield from run("leave_line", ids=limited)
    return happened


def end_and_tell(endings: Sequence[Ending]) -> Steps[list[Happened]]:
    leases = yield from describe_leases([end.token for end in endings])
    finished = yield from end_attempts(endings, "default")
    return told_endings(leases, endings, finished.lost)


def ended_steps(asked: EndedAttempts) -> Steps[list[Event | None]]:
    ids, attempts = [id_ for id_, _ in asked.attempts], [attempt for _, attempt in asked.attempts]
    rows = yield from run("ended_attempts", session=asked.session, ids=ids, attempts=attempts)
    return [event and Event(event) for (event,) in rows]


def start_steps(start: StartJobs) -> Steps[list[int]]:
    tokens = [token for token, _ in start.starts]
    found = yield from run("start_jobs", tokens=tokens, started=[at for _, at in start.starts])
    return _missing(tokens, [token for (token,) in found])


def progress_steps(save: SaveProgress) -> Steps[list[int]]:
    tokens = [token for token, _ in save.progress]
    found = yield from run("save_progress", tokens=tokens, progress=[text for _, text in save.progress])
    return _missing(tokens, [token for (token,) in found])
