"""The rules of jobs that failed for good (F4): one alert for each type, that names the newest of them.

How many there were is in the figures, also of jobs that are removed when they fail; which ones, in the dead letters.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.domain.figures.series import Count
from penstock.observe.alerts.facts import RECENT_SECONDS, AlertFacts, Breach
from penstock.observe.alerts.settings import AlertSettings, RuleSettings
from penstock.observe.words import about, counted
from penstock.store.contract import DeadSign

ERROR_CHARS_MAX = 500


def final_failure(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> list[Breach]:
    """Of all types but those that are told more loudly."""
    apart = settings.critical_types if settings.rule("critical_dead_letter").on else ()
    return [_failed(facts, type, number) for type, number in _dead(facts).items() if type not in apart]


def critical_dead_letter(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> list[Breach]:
    critical: Collection[str] = settings.critical_types
    return [_failed(facts, type, number) for type, number in _dead(facts).items() if type in critical]


def _dead(facts: AlertFacts) -> dict[str, int]:
    """How many of each type. A letter may be there before its worker has sent what it counted."""
    counted: dict[str, int] = {}
    for row in facts.rows:
        number = row.figures.counts.get(Count.DEAD, 0)
        if number:
            counted[row.route.type] = counted.get(row.route.type, 0) + number
    letters = [one.type for one in facts.signs.dead]
    return {type: max(counted.get(type, 0), letters.count(type)) for type in sorted({*counted, *letters})}


def _failed(facts: AlertFacts, type: str, number: int) -> Breach:
    newest = next((one for one in facts.signs.dead if one.type == type), None)
    title, times = f"Worker {type} final failure", f"{counted(number, 'job')} in the last {about(RECENT_SECONDS)}"
    if newest is None:
        said = f"{times} failed for good; which ones is not known: such jobs are removed when they fail"
        return Breach(scope=type, value=number, title=title, message=said, tags={"type": type})
    tags = {"type": type, "job_id": newest.id, **({"tenant": newest.org} if newest.org is not None else {})}
    return Breach(scope=type, value=number, title=title, message=f"{_why(newest)}; {times}", tags=tags)


def _why(dead: DeadSign) -> str:
    error = " ".join((dead.error or "no error is known").split())
    error = error if len(error) <= ERROR_CHARS_MAX else f"{error[: ERROR_CHARS_MAX - 1]}…"
    return f"job {dead.id} failed for good after {counted(dead.attempt, 'attempt')}: {error}"
