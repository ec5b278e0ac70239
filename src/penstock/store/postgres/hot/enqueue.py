"""Storing new jobs: those that share everything but id, payload, keys and due time are one statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import StoreError
from penstock.domain.job import ErrorInfo
from penstock.store.contract import Enqueued, Happened, JobSpec, NewJob, WholeKey
from penstock.store.postgres.hot.expiry import expire_these
from penstock.store.postgres.hot.gates import line_up_steps, park_steps
from penstock.store.sql.happening import NO_WORKER
from penstock.store.sql.rows import resource_text
from penstock.store.sql.steps import Statement, Steps, as_json, run
from penstock.store.sql.unroutable import Hasty, end_new, marked, with_late

BIGINT_MAX = 2**63 - 1
KEYED_AT_ONCE = 10_000
"""Of jobs with keys no more in one statement: of too many ids the server makes no hash, and compares each with all."""
Route = tuple[str, str, str, str, int]
Shared = tuple[JobSpec, str | None]
"""What the jobs of a run share: their spec, and which dead letter they are a retry of."""
Wanted = tuple[str, float | None]
"""Who wants a key, and for how many seconds; None: until it has ended."""
_NONE_HELD: tuple[dict[str, Enqueued], list[Happened]] = ({}, [])


def enqueue_steps(
    jobs: Sequence[NewJob],
    retried_from: Mapping[str, str] | None = None,
    wake: bool = True,
    own: bool = True,
    strict: bool = True,
) -> Steps[list[Enqueued]]:
    """Store the jobs. One whose id is stored already, or whose unique key is held, is answered with created False.

    `own` is False in a transaction of the caller's, which may last. `strict` refuses a limit that differs from the one
    that is stored for its key.
    """
    if len(jobs) == 1 and not retried_from and is_plain(jobs):
        one = {**_shared(jobs[0].spec, None, wake), "id": jobs[0].id, "payload": jobs[0].payload}
        if (yield Statement("insert_job", one)):
            return [Enqueued(jobs[0].id, True)]
    held, late = (yield from _held_keys(jobs)) if any(job.spec.unique for job in jobs) else _NONE_HELD
    gated = [job for job in jobs if job.gates]
    parked = (yield from park_steps(gated, own, strict)) if gated else {}
    runs: list[tuple[list[NewJob], set[str] | None]] = []
    hasty: list[Hasty] = []
    for (spec, old_id), alike in _parts(_runs(jobs, held, retried_from)):
        new = yield from _insert(spec, alike, old_id, wake, parked)
        runs.append((alike, new))
        if spec.no_worker == "fail":
            hasty.append((spec, [job.id for job in alike if new is None or job.id in new]))
    if not (held or late or hasty) and all(new is None for _, new in runs):
        yield from line_up_steps(gated)
        return [Enqueued(job.id, True) for job in jobs]
    stored = {id_ for alike, new in runs for id_ in ({job.id for job in alike} if new is None else new)}
    yield from line_up_steps([job for job in gated if job.id in stored])
    dead = (yield from end_new(hasty, _fail_new)) if hasty else {}
    return marked(_answers(jobs, held, stored), dead, late)


def enqueue_whole_steps(jobs: Sequence[NewJob], whole: WholeKey, own: bool = True) -> Steps[list[Enqueued]]:
    """Store the jobs, or none of them while the key is held."""
    if not jobs:
        return []
    mine = jobs[0].id
    holders, late = yield from _holders({whole.key: (mine, whole.seconds)})
    if holders[whole.key] != mine:
        answers = [Enqueued(holders[whole.key], False) for _ in jobs]
    else:
        answers = yield from enqueue_steps(jobs, own=own)
    return with_late(answers, late) if late else answers


def _fail_new(ids: Sequence[str], reason: str) -> Steps[list[str]]:
    """End those of these that are due, since no worker takes them; answers which."""
    error = as_json(ErrorInfo(NO_WORKER, reason))
    failed = [job_id for (job_id,) in (yield from run("fail_new_jobs", ids=list(ids), reason=reason, error=error))]
    if failed:
        yield from run("leave_line", ids=sorted(failed))
    return failed


def _answers(jobs: Sequence[NewJob], held: dict[str, Enqueued], stored: set[str]) -> list[Enqueued]:
    answers = []
    for job in jobs:
        answers.append(held.get(job.id) or Enqueued(job.id, job.id in stored))
        stored.discard(job.id)
    return answers


def is_plain(jobs: Sequence[NewJob]) -> bool:
    """Whether storing them is one statement: they share a spec, and there is no key to hold and no gate to pass."""
    spec = jobs[0].spec if jobs else None
    if spec is None or spec.unique is not None or spec.limit is not None or spec.rate_limit is not None:
        return False
    if spec.no_worker == "fail":
        return False
    return all((job.spec is spec or job.spec == spec) and not job.gates for job in jobs)


def route_of(spec: JobSpec) -> Route:
    return (spec.type, spec.queue, spec.capability, resource_text(spec.resources), spec.priority)


def lane_steps(routes: Sequence[Route]) -> Steps[None]:
    """Make the lanes of these routes where they are missing."""
    for route in sorted(routes):
        yield from run("insert_lane", **_named(route))


def _named(route: Route) -> dict[str, Any]:
    return dict(zip(("type", "queue", "capability", "resources", "priority"), route, strict=True))


def _runs(
    jobs: Sequence[NewJob], held: dict[str, Enqueued], retried_from: Mapping[str, str] | None
) -> dict[Shared, list[NewJob]]:
    """The jobs by what they share, each group in the order of the call. Keys and due times are each job's own."""
    runs: dict[Shared, list[NewJob]] = {}
    for job in jobs:
        if job.id not in held:
            spec = job.spec
            if spec.unique is not None or spec.at is not None:
                spec = msgspec.structs.replace(spec, unique=None, at=None)
            runs.setdefault((spec, retried_from[job.id] if retried_from else None), []).append(job)
    return runs


def _are_keyed(jobs: list[NewJob]) -> bool:
    """Whether some have more of their own than id and payload: keys, or different due times."""
    at = jobs[0].spec.at
    return any(job.gates or job.spec.unique is not None or job.spec.at != at for job in jobs)


def _parts(runs: dict[Shared, list[NewJob]]) -> Iterator[tuple[Shared, list[NewJob]]]:
    """What goes into one statement each."""
    for shared, jobs in runs.items():
        most = KEYED_AT_ONCE if _are_keyed(jobs) else len(jobs)
        for start in range(0, len(jobs), most):
            yield shared, jobs[start : start + most]


def _insert(
    spec: JobSpec, jobs: list[NewJob], retried_from: str | None, wake: bool, parked: dict[str, int]
) -> Steps[set[str] | None]:
    """Answers the ids that were stored, or None for all of them."""
    parameters = _shared(spec, retried_from, wake)
    parameters["ids"], parameters["payloads"] = [job.id for job in jobs], [job.payload for job in jobs]
    keyed = _are_keyed(jobs)
    if keyed:
        aside: dict[str, int | None] = {}
        for job in jobs:
            if job.id in parked:
                aside.setdefault(job.id, _storable(job.spec.at))
        parameters["unique_keys"] = [job.spec.unique_key for job in jobs]
        parameters["gates"] = [as_json(job.gates) if job.gates else None for job in jobs]
        parameters["ats"] = [_storable(job.spec.at) for job in jobs]
        parameters["parked"], parameters["before"] = list(aside), [parked[id_] for id_ in aside]
        parameters["parked_ats"] = list(aside.values())
    else:
        parameters["at"] = _storable(jobs[0].spec.at)
    for turn in range(3):
        [(lane, stored, _)] = yield from run("insert_gated_jobs" if keyed else "insert_jobs", **parameters)
        if lane is not None:
            return None if stored is None else set(stored)
        if turn:  # The next number is a lane's already: lanes were copied here, and the sequence of numbers was not.
            yield from run("catch_up")
        yield from lane_steps([route_of(spec)])
    raise StoreError("the lane of a new job could not be made; is something removing rows from the table lane?")


def _shared(spec: JobSpec, retried_from: str | None, wake: bool) -> dict[str, Any]:
    return {
        **_named(route_of(spec)),
        "at": _storable(spec.at),
        "delay": _storable(int(spec.delay * MICROSECONDS)),
        "ttl": None if spec.ttl is None else _storable(int(spec.ttl * MICROSECONDS)),
        "policy": spec.policy,
        "org": spec.tenant.org if spec.tenant else None,
        "workspace": spec.tenant.workspace if spec.tenant else None,
        "tags": list(spec.tags) or None,
        "parent": spec.parent,
        "retried_from": retried_from,
        "wake": wake,
    }


def _storable(moment: int | None) -> int | None:
    """Refused before it is sent: an error of the server would abort the transaction of the caller."""
    if moment is not None and abs(moment) > BIGINT_MAX // 2:
        raise OverflowError(f"{moment} is not a moment or duration that can be stored")
    return moment


def _held_keys(jobs: Sequence[NewJob]) -> Steps[tuple[dict[str, Enqueued], list[Happened]]]:
    """The jobs whose unique key is held by another, by their id; and what has expired that held one. The keys of the
    others are theirs from now on.
    """
    first: dict[str, Wanted] = {}
    for job in jobs:
        if (key := job.spec.unique_key) is not None:
            first.setdefault(key, (job.id, job.spec.unique.per if job.spec.unique else None))
    holders, late = yield from _holders(first)
    held = {
        job.id: Enqueued(holders[key], False)
        for job in jobs
        if (key := job.spec.unique_key) is not None and holders[key] != job.id
    }
    return held, late


def _holders(wanted: dict[str, Wanted]) -> Steps[tuple[dict[str, str], list[Happened]]]:
    """Which job holds each of the keys: another one, or from now on the one that wants it; and what has expired."""
    holders = {key: id_ for key, (id_, _) in wanted.items()}
    taken = {key for (key,) in (yield from run("take_unique", **_keyed(wanted)))}
    late: list[Happened] = []
    there = {key: one for key, one in wanted.items() if key not in taken}
    if there:
        held, late = yield from _standing(sorted(there))
        free = {key: one for key, one in there.items() if key not in held}
        if free:
            yield from run("hold_unique", **_keyed(free))
        holders |= held
    return holders, late


def _standing(keys: list[str]) -> Steps[tuple[dict[str, str], list[Happened]]]:
    """Who holds these. One that has waited for too long reads as expired: it ends here, and holds nothing any more."""
    found = yield from run("read_unique", keys=keys)
    overdue = [holder for _, holder, valid, late in found if valid and late]
    expired: list[Happened] = []
    if overdue:
        expired = yield from expire_these(overdue)
        found = yield from run("read_unique", keys=keys)
    return {key: holder for key, holder, valid, _ in found if valid}, expired


def _keyed(wanted: dict[str, Wanted]) -> dict[str, list[Any]]:
    return {
        "keys": list(wanted),
        "ids": [id_ for id_, _ in wanted.values()],
        "pers": [None if per is None else int(per * MICROSECONDS) for _, per in wanted.values()],
    }
