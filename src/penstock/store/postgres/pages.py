"""Pages of jobs by key or by when they ended: where an index finds them. Texts are made of fixed parts."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.domain.job import FINAL, State, StateCode
from penstock.store import params as p

_NOW = "penstock.moment(%(now)s::bigint)"
_BEFORE = "id < %(before)s::uuid"
_KEYED = """(
    SELECT job.id FROM penstock.job
    WHERE gates IS NOT NULL AND gates::jsonb -> {place} ->> 0 = {name}::text || %(key)s::text AND {before}
    ORDER BY gates::jsonb -> {place} ->> 0 DESC, id DESC LIMIT %(looked)s::bigint
)"""
_HOLDER = "(SELECT unique_key.id FROM penstock.unique_key WHERE unique_key.key = %(key)s::text AND {before})"
# The last that have ended in a state. A page begins where the one before has ended: after a moment and an id.
_ENDED = """(
    SELECT outcome.id, outcome.finished_at FROM penstock.outcome
    WHERE outcome.state = {code} AND {before}
    ORDER BY outcome.finished_at DESC, outcome.id DESC LIMIT %(looked)s::bigint
)"""
_ENDED_BEFORE = """(outcome.finished_at, outcome.id) < (
        SELECT last.finished_at, last.id FROM penstock.outcome AS last WHERE last.id = %(before)s::uuid
    )"""
_STATE = f"""CASE
        WHEN EXISTS (SELECT 1 FROM penstock.outcome WHERE outcome.id = it.id)
            THEN (SELECT outcome.state::text FROM penstock.outcome WHERE outcome.id = it.id)
        WHEN EXISTS (SELECT 1 FROM penstock.lease WHERE lease.id = it.id AND lease.started_at IS NULL) THEN 'claimed'
        WHEN EXISTS (SELECT 1 FROM penstock.lease WHERE lease.id = it.id) THEN 'running'
        WHEN EXISTS (SELECT 1 FROM penstock.parked WHERE parked.id = it.id) THEN 'blocked'
        WHEN (SELECT job.due_at FROM penstock.job WHERE job.id = it.id) > {_NOW} THEN 'scheduled'
        ELSE 'pending'
    END = ANY (%(states)s::text[])"""


def codes_of(states: Iterable[State] | None) -> list[str]:
    """States as `_STATE` names them."""
    return [str(StateCode[state.name].value) if state in FINAL else state.value for state in states or ()]


def page_of(asked: p.ListJobs, parts: list[str]) -> tuple[str, str]:
    """The statement that finds the ids of a page, and the order of it."""
    finished = asked.sort == "finished"
    tests = [f"(SELECT true FROM penstock.job WHERE job.id = it.id AND {' AND '.join(parts)})"] if parts else []
    if asked.key is None:
        found = _ended(asked)
    else:
        found = _keyed(asked.before is not None and not finished, finished)
        tests += [_STATE] if asked.states is not None else []
        tests += [_ENDED_BEFORE.replace("outcome.", "it.")] if finished and asked.before is not None else []
    order = "finished_at DESC, id DESC" if finished else "id DESC"
    page = (
        f"SELECT it.id, NULL AS total, it.finished_at FROM ({found}) AS it WHERE {' AND '.join(tests) or 'true'} "
        f"ORDER BY {order} LIMIT %(limit)s::bigint"
    )
    return page, ", ".join(f"page.{one}" for one in order.split(", "))


def _ended(asked: p.ListJobs) -> str:
    before = _ENDED_BEFORE if asked.before is not None else "true"
    states = FINAL if asked.states is None else asked.states & FINAL
    codes = sorted(StateCode[state.name].value for state in states)
    each = " UNION ALL ".join(_ENDED.format(code=code, before=before) for code in codes)
    return each or "SELECT NULL::uuid AS id, NULL::bigint AS finished_at WHERE false"


def _keyed(before: bool, finished: bool) -> str:
    test = _BEFORE if before else "true"
    each = [_KEYED.format(place=place, name=name, before=test) for place in (0, 1) for name in ("'key:'", "'rate:'")]
    ids = " UNION ".join([*each, _HOLDER.format(before=test)])
    joined = "JOIN penstock.outcome ON outcome.id = keyed.id" if finished else ""
    when = "outcome.finished_at" if finished else "NULL::bigint AS finished_at"
    return f"SELECT keyed.id, {when} FROM ({ids}) AS keyed {joined}"
