"""Pages of jobs by key or by when they ended: where an index finds them. Texts are made of fixed parts."""

from __future__ import annotations

from penstock.domain.job import FINAL, StateCode
from penstock.store import params as p

_KEYED = """SELECT * FROM (
    SELECT keyed.seq FROM penstock_job AS keyed
    WHERE keyed.gates IS NOT NULL AND keyed.gates ->> '$[{place}][0]' = '{kind}:' || :key AND {before}
    ORDER BY keyed.seq DESC LIMIT :looked
)"""
_HOLDER = """SELECT keyed.seq FROM penstock_unique AS held
    JOIN penstock_job AS keyed ON keyed.id = held.id
    WHERE held.key = :key AND {before}"""
# The last that have ended in a state. A page begins where the one before has ended: after a moment and a number.
_ENDED = """SELECT * FROM (
    SELECT ended.seq FROM penstock_outcome AS ended
    WHERE ended.state = {code} AND {before}
    ORDER BY ended.finished_at DESC, ended.seq DESC LIMIT :looked
)"""
_LAST = """(
        SELECT last.finished_at, last.seq FROM penstock_outcome AS last
        JOIN penstock_job AS one ON one.seq = last.seq WHERE one.id = :before
    )"""
_BY_END = "outcome.finished_at DESC, job.seq DESC"
# The plus keeps SQLite from walking all jobs in the order of their ids.
_BY_ID = "+job.id DESC"


def page_of(asked: p.ListJobs) -> tuple[str, str]:
    """The condition that a page's jobs meet, beside the others, and their order."""
    finished = asked.sort == "finished"
    if asked.key is None:
        return _ended(asked), _BY_END
    parts = [_keyed(asked.before is not None and not finished)]
    if finished:
        parts.append("outcome.seq IS NOT NULL")
        if asked.before is not None:
            parts.append(f"(outcome.finished_at, outcome.seq) < {_LAST}")
    return " AND ".join(parts), _BY_END if finished else _BY_ID


def _keyed(before: bool) -> str:
    test = "keyed.id < :before" if before else "true"
    each = [_KEYED.format(place=place, kind=kind, before=test) for place in (0, 1) for kind in ("key", "rate")]
    return f"job.seq IN ({' UNION ALL '.join([*each, _HOLDER.format(before=test)])})"


def _ended(asked: p.ListJobs) -> str:
    before = f"(ended.finished_at, ended.seq) < {_LAST}" if asked.before is not None else "true"
    states = FINAL if asked.states is None else asked.states & FINAL
    codes = sorted(StateCode[state.name].value for state in states)
    each = " UNION ALL ".join(_ENDED.format(code=code, before=before) for code in codes)
    return f"job.seq IN ({each})" if each else "false"
