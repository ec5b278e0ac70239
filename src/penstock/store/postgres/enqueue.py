"""Storing new jobs: those that share everything but id, payload and keys are one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import StoreError
from penstock.domain.options import NO_RESOURCES, Resources
from penstock.store.params import Enqueued, JobSpec, NewJob
from penstock.store.postgres.gates import encode_gates, line_up_steps, park_steps
from penstock.store.postgres.steps import Steps, run

BIGINT_MAX = 2**63 - 1
KEYED_AT_ONCE = 10_000
"""Of jobs with keys no more in one statement: of too many ids the server makes no hash, and compares each with all."""
Route = tuple[str, str, str, str, int]
Shared = tuple[JobSpec, str | None]
"""What the jobs of a run share: their spec, and which dead letter they are a retry of."""


def enqueue_steps(
    jobs: Sequence[NewJob], retried_from: dict[str, str] | None = None, wake: bool = True, own: bool = True
) -> Steps[list[Enqueued]]:
    """Store the jobs. One whose id is stored already, or whose unique key is held, is answered with created False.

    `own` is False in a transaction of the caller's, which may last.
    """
    if is_plain(jobs[:1]) and len(jobs) == 1 and not retried_from and (yield from _insert_one(jobs[0], wake)):
        return [Enqueued(jobs[0].id, True)]
    held = (yield from _held_keys(jobs)) if any(job.spec.unique for job in jobs) else {}
    gated = [job for job in jobs if job.gates]
    parked = (yield from park_steps(gated, own)) if gated else {}
    runs: list[tuple[list[NewJob], set[str] | None]] = []
    for (spec, old_id), alike in _parts(_runs(jobs, held, retried_from)):
        runs.append((alike, (yield from _insert(spec, alike, old_id, wake, parked))))
    if not held and all(new is None for _, new in runs):
        yield from line_up_steps(gated)
        return [Enqueued(job.id, True) for job in jobs]
    stored = {id_ for alike, new in runs for id_ in ({job.id for job in alike} if new is None else new)}
    yield from line_up_steps([job for job in gated if job.id in stored])
    return _answers(jobs, held, stored)


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
    return all((job.spec is spec or job.spec == spec) and not job.gates for job in jobs)


def route_of(spec: JobSpec) -> Route:
    return (spec.type, spec.queue, spec.capability, resource_text(spec.resources), spec.priority)


def resource_text(resources: Resources) -> str:
    return "" if resources == NO_RESOURCES else msgspec.json.encode(resources).decode()


def lane_steps(routes: Sequence[Route]) -> Steps[None]:
    """Make the lanes of these routes where they are missing."""
    for route in sorted(routes):
        yield from run("insert_lane", **_named(route))


def _named(route: Route) -> dict[str, Any]:
    return dict(zip(("type", "queue", "capability", "resources", "priority"), route, strict=True))


def _runs(
    jobs: Sequence[NewJob], held: dict[str, Enqueued], retried_from: dict[str, str] | None
) -> dict[Shared, list[NewJob]]:
    """The jobs by what they share, each group in the order of the call. Unique keys are each job's own."""
    runs: dict[Shared, list[NewJob]] = {}
    for job in jobs:
        if job.id not in held:
            spec = job.spec if job.spec.unique is None else msgspec.structs.replace(job.spec, unique=None)
            runs.setdefault((spec, retried_from[job.id] if retried_from else None), []).append(job)
    return runs


def _is_keyed(job: NewJob) -> bool:
    return bool(job.gates) or job.spec.unique is not None


def _parts(runs: dict[Shared, list[NewJob]]) -> Iterator[tuple[Shared, list[NewJob]]]:
    """What goes into one statement each."""
    for shared, jobs in runs.items():
        most = KEYED_AT_ONCE if any(map(_is_keyed, jobs)) else len(jobs)
        for start in range(0, len(jobs), most):
            yield shared, jobs[start : start + most]


def _insert_one(job: NewJob, wake: bool) -> Steps[bool]:
    parameters = _shared(job.spec, None, wake)
    parameters["id"], parameters["payload"] = job.id, job.payload
    return bool((yield from run("insert_job", **parameters)))


def _insert(
    spec: JobSpec, jobs: list[NewJob], retried_from: str | None, wake: bool, parked: dict[str, int]
) -> Steps[set[str] | None]:
    """Answers the ids that were stored, or None for all of them."""
    parameters = _shared(spec, retried_from, wake)
    parameters["ids"], parameters["payloads"] = [job.id for job in jobs], [job.payload for job in jobs]
    keyed = any(map(_is_keyed, jobs))
    if keyed:
        aside = list(dict.fromkeys(job.id for job in jobs if job.id in parked))
        parameters["unique_keys"] = [job.spec.unique_key for job in jobs]
        parameters["gates"] = [encode_gates(job.gates) if job.gates else None for job in jobs]
        parameters["parked"], parameters["before"] = aside, [parked[id_] for id_ in aside]
    for _ in range(2):
        [(lane, stored, _)] = yield from run("insert_gated_jobs" if keyed else "insert_jobs", **parameters)
        if lane is not None:
            return None if stored is None else set(stored)
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


def _held_keys(jobs: Sequence[NewJob]) -> Steps[dict[str, Enqueued]]:
    """The jobs whose unique key is held by another, by their id. The keys of the others are theirs from now on."""
    first: dict[str, NewJob] = {}
    for job in jobs:
        if (key := job.spec.unique_key) is not None:
            first.setdefault(key, job)
    holders = {key: job.id for key, job in first.items()}
    taken = {key for (key,) in (yield from run("take_unique", **_keyed(first)))}
    there = {key: job for key, job in first.items() if key not in taken}
    if there:
        free = dict(there)
        for key, holder, valid in (yield from run("read_unique", keys=sorted(there))):
            if valid:
                holders[key] = holder
                del free[key]
        if free:
            yield from run("hold_unique", **_keyed(free))
    return {
        job.id: Enqueued(holders[key], False)
        for job in jobs
        if (key := job.spec.unique_key) is not None and holders[key] != job.id
    }


def _keyed(jobs: dict[str, NewJob]) -> dict[str, list[Any]]:
    pers = [job.spec.unique.per if job.spec.unique else None for job in jobs.values()]
    return {
        "keys": list(jobs),
        "ids": [job.id for job in jobs.values()],
        "pers": [None if per is None else int(per * MICROSECONDS) for per in pers],
    }
