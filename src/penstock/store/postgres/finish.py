"""Ending attempts, fenced: every statement goes through the lease of its token, so a lost token changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

import psycopg

from penstock.store import workflows
from penstock.store.endings import Ending, ending_of, ending_unheard
from penstock.store.params import Claim, Completed, FinishJobs, History, SaveProgress, StartJobs
from penstock.store.postgres.enqueue import enqueue_steps
from penstock.store.postgres.steps import Steps, run
from penstock.store.postgres.workflows import carry_out

log = logging.getLogger("penstock.store")

_ARRAYS = ("tokens", "finals", "states", "started", "delays", "errors", "reasons", "deciders", "backs", "crashes",
           "events", "keeps", "removes", "progress", "elsewhere")  # fmt: skip


def finish_steps(finish: FinishJobs, alone: bool = False) -> Steps[list[int]]:
    """Answers the tokens that were lost. `alone`: each statement is a transaction of its own.

    In a transaction of the caller's, gates are left to the leader, who looks after them: they would be locked for long.
    """
    own = finish.transaction is None
    members = own and workflows.has_members(finish)
    if finish.follow_ups or finish.workflows or members:
        yield from _follow(finish, own, members)
    lost: list[int] = []
    for keep, run_ in groupby(finish.completed, key=attrgetter("keep")):
        lost += yield from _complete(keep, list(run_), finish.history, own, alone)
    if finish.unfinished:
        lost += yield from end_attempts([ending_of(end) for end in finish.unfinished], finish.history, own, alone)
    return sorted(set(lost))


def _follow(finish: FinishJobs, own: bool, members: bool) -> Steps[None]:
    """What is stored because these attempts end: follow-ups, workflows, and what comes next in theirs.

    The workflows are locked before the leases, as whoever cancels one does. In a transaction of the caller's they are
    left to the leader: they would be locked for long.
    """
    tokens = {token for token, _ in (*finish.follow_ups, *finish.workflows)}
    if members:
        ids = dict(workflows.members_of(finish))
        tokens |= ids.keys()
        yield from run("lock_workflows", ids=sorted(set(ids.values())))
    found = yield from run("follow_up_tokens", tokens=sorted(tokens))
    held = {token for token, cancel in found if not cancel}
    yield from enqueue_steps([job for token, job in finish.follow_ups if token in held])
    for token, workflow in finish.workflows:
        if token in held:
            yield from carry_out(workflows.add(workflow), own=own)
    ended = workflows.ended_of(finish, held, {token for token, cancel in found if cancel}) if members else []
    if ended:
        yield from carry_out(workflows.note_ended(ended))


def is_alone(finish: FinishJobs) -> bool:
    """Whether storing these outcomes is one statement."""
    if finish.follow_ups or finish.workflows or (finish.completed and finish.unfinished):
        return False
    return len({done.keep for done in finish.completed}) <= 1 and not workflows.has_members(finish)


def _complete(keep: bool | int, done: list[Completed], history: History, own: bool, alone: bool) -> Steps[list[int]]:
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
        [(stored, gated)] = yield from run("complete_jobs", **parameters, careful=not alone)
    except psycopg.errors.UniqueViolation:
        if not alone:
            raise
        [(stored, gated)] = yield from run("complete_jobs", **parameters, careful=True)
    if gated and own:
        yield from _release(tokens, [], alone)
    return [] if stored is None else _missing(tokens, stored)


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


def end_attempts(
    endings: Sequence[Ending], history: History, own: bool = True, alone: bool = False
) -> Steps[list[int]]:
    """Return the jobs that will be tried again, and end the others. Answers the tokens that were lost."""
    columns = dict(zip(_ARRAYS, (list(column) for column in zip(*endings, strict=True)), strict=True))
    [(found, gated, _)] = yield from run("end_attempts", **columns, record=history != "none")
    if gated and own:
        unused = [end.token for end in endings if end.give_back and end.started_at is None]
        yield from _release([end.token for end in endings], unused, alone)
    return _missing([end.token for end in endings], found)


def end_cancelled(jobs: Sequence[Claim]) -> Steps[None]:
    """A person has cancelled these while a claim was at it: its worker is not told of them, and they end."""
    yield from end_attempts([ending_unheard(job.token) for job in jobs], "default")
    limited = [job.id for job in jobs if job.gates]
    if limited:
        yield from run("leave_line", ids=limited)


def start_steps(start: StartJobs) -> Steps[list[int]]:
    tokens = [token for token, _ in start.starts]
    found = yield from run("start_jobs", tokens=tokens, started=[at for _, at in start.starts])
    return _missing(tokens, [token for (token,) in found])


def progress_steps(save: SaveProgress) -> Steps[list[int]]:
    tokens = [token for token, _ in save.progress]
    found = yield from run("save_progress", tokens=tokens, progress=[text for _, text in save.progress])
    return _missing(tokens, [token for (token,) in found])
