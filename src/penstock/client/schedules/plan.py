"""From what a person writes about a schedule to a checked plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import Any, TypedDict, cast

import msgspec

from penstock.client.client import JobCall
from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.duration import Duration, parse_duration
from penstock.domain.errors import ConfigError, UsageError
from penstock.domain.flow.gates import undeclared
from penstock.domain.options import NAME_LENGTH_MAX, TAGS_MAX, check_name
from penstock.domain.schedule.timing import Timing, make_timing
from penstock.store.contract import TAG, Misfire, SchedulePlan

MISFIRES = ("once", "skip", "all")
LIMIT_MAX = 10**9
SCHEDULE_NAME_LENGTH_MAX = NAME_LENGTH_MAX - len(TAG)


class When(TypedDict, total=False):
    """When a schedule is due, and what becomes of what was missed."""

    cron: str | None
    every: Duration | None
    timezone: str | None
    tz: str | None
    start: datetime | None
    end: datetime | None
    limit: int | None
    misfire: Misfire
    grace: Duration


TIMES = ("cron", "every", "timezone", "tz", "start", "end")
KNOWN = tuple(When.__annotations__)


def check_schedule_name(name: object) -> str:
    """It becomes part of a tag, which has the length of a name."""
    if isinstance(name, str) and len(name) > SCHEDULE_NAME_LENGTH_MAX:
        raise ConfigError(f"schedule={name[:30]!r}… is too long a name: at most {SCHEDULE_NAME_LENGTH_MAX} characters")
    return check_name(name, "schedule")


def is_schedule_name(name: object) -> bool:
    """Whether one could have this name. Some texts cannot even be sent to a store."""
    try:
        check_schedule_name(name)
    except ConfigError:
        return False
    return True


def check_when(when: Mapping[str, Any]) -> tuple[Timing, dict[str, Any]]:
    """The times, and the rest of what is said beside them; or an error that names the fix."""
    refuse_unknown(when, KNOWN)
    return make_timing(**{name: when[name] for name in TIMES if name in when}), _policy(when)


def make_plan(job: object, when: Mapping[str, Any]) -> SchedulePlan:
    """A plan of what was given, or an error that names the fix."""
    timing, policy = check_when(when)
    call = _checked_call(job)
    return SchedulePlan(timing=timing, payload=call.payload, spec=call.spec, gates=undeclared(call.gates), **policy)


def changed_plan(plan: SchedulePlan, job: object | None, when: Mapping[str, Any]) -> SchedulePlan:
    """A plan with some of it changed. A new cron or interval takes the place of whichever there was."""
    refuse_unknown(when, KNOWN)
    if job is not None:
        call = _checked_call(job)
        plan = msgspec.structs.replace(plan, payload=call.payload, spec=call.spec, gates=undeclared(call.gates))
    times = {name: when[name] for name in TIMES if name in when}
    timing = _changed_timing(plan.timing, times) if times else plan.timing
    return msgspec.structs.replace(plan, timing=timing, **_policy(when))


def _changed_timing(timing: Timing, times: dict[str, Any]) -> Timing:
    known = {
        "cron": timing.cron,
        "every": None if timing.every is None else timing.every / MICROSECONDS,
        "timezone": timing.timezone,
        "start": None if timing.start is None else from_us(timing.start),
        "end": None if timing.end is None else from_us(timing.end),
    }
    replaced = {"cron": "every", "every": "cron", "tz": "timezone"}
    for name, other in replaced.items():
        if times.get(name) is not None and other not in times:
            known[other] = None
    return make_timing(**{**known, **times})


def _policy(when: Mapping[str, Any]) -> dict[str, Any]:
    checks: dict[str, Callable[[Any, str], Any]] = {"misfire": _misfire, "grace": parse_duration, "limit": _limit}
    return {name: check(when[name], name) for name, check in checks.items() if name in when}


def _checked_call(job: object) -> JobCall[Any]:
    if not isinstance(job, JobCall):
        raise UsageError(f"job={job!r} is not a call: write job=cleanup.bind(…), with the arguments of the handler")
    call: JobCall[Any] = job
    if call.job_id is not None:
        raise ConfigError("a schedule makes many jobs, and an id belongs to one: leave id= out")
    if call.spec.at is not None:
        raise ConfigError("a schedule says when its jobs are due: leave at= out; delay= makes each so much later")
    if len(call.spec.tags) >= TAGS_MAX:
        raise ConfigError(f"a schedule adds a tag of its own: leave out one of the {TAGS_MAX} tags")
    return call


def _misfire(value: object, name: str) -> Misfire:
    if value not in MISFIRES:
        raise ConfigError(
            f"{name}={value!r} does not exist: 'once' makes one job of all that were missed, 'skip' none that is "
            "later than grace=, 'all' one of each"
        )
    return cast(Misfire, value)


def _limit(value: object, name: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LIMIT_MAX:
        raise ConfigError(f"{name}={value!r} is not possible: how often it fires at most, 1 or more; None is no limit")
    return value


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in given:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            fix = f"did you mean {near[0]}=?" if near else f"there are: {', '.join(known)}"
            raise ConfigError(f"{name}= is not an option of a schedule; {fix}")
