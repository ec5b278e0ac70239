"""The rules: each says of the facts what is wrong by it, or None where these facts cannot tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.domain.clock import MICROSECONDS
from penstock.domain.duration import format_size
from penstock.domain.figures.series import Count
from penstock.observe.alerts import failures
from penstock.observe.alerts.catalogue import NO_LEADER, OTHERS, RULES, STORE
from penstock.observe.alerts.facts import COUNTED_MAX, AlertFacts, Breach
from penstock.observe.alerts.settings import AlertSettings, RuleSettings
from penstock.observe.health import START_ONE
from penstock.observe.stuck import stuck_lanes, takers_among, why_stuck
from penstock.observe.words import about, counted, counted_jobs
from penstock.store.contract import HeldSign

MINUTE = 60 * MICROSECONDS
SAMPLE_REST_FACTOR = 100
"""A sample that takes long is taken rarely: it is old when it is older than twice what the leader rests."""
TIMEOUT_GRACE_SECONDS = 60.0
"""So long past its own timeout a run should have been stopped, or its worker declared lost."""

Breaches = Sequence[Breach] | None
Rule = Callable[[AlertFacts, RuleSettings, AlertSettings], Breaches]


def judge(name: str, facts: AlertFacts, settings: AlertSettings) -> Breaches:
    """By one rule. One that is off finds nothing, so that what fires by it is resolved."""
    rule = settings.rule(name)
    return JUDGED[name](facts, rule, settings) if rule.on else ()


def high_timeout_rate(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> Breaches:
    """In this minute so far, or in the one before: whichever had more."""
    this = facts.now - facts.now % MINUTE
    by_type: dict[int, dict[str, int]] = {this: {}, this - MINUTE: {}}
    for row in facts.rows:
        timeouts = row.figures.counts.get(Count.TIMEOUT, 0)
        if timeouts and row.at in by_type:
            found = by_type[row.at]
            found[row.route.type] = found.get(row.route.type, 0) + timeouts
    most = max(by_type.values(), key=lambda found: sum(found.values()))
    rate = sum(most.values())
    if rate <= rule.threshold:
        return ()
    worst = ", ".join(f"{type} ({number:,})" for type, number in sorted(most.items(), key=lambda one: -one[1])[:5])
    return [Breach(
        scope=STORE, value=rate, title="Many attempts time out",
        message=f"{rate:,} attempts timed out within a minute, more than {rule.threshold:g}: {worst}",
        tags={"type": max(most, key=lambda type: most[type])},
    )]  # fmt: skip


def no_active_workers(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> Breaches:
    if takers_among(facts.workers):
        return ()
    jobs = sum(lane.jobs for lane in facts.waiting)
    if facts.waiting:
        oldest = about(facts.seconds_since(min(lane.oldest_due_at for lane in facts.waiting)))
        waits = f"{counted_jobs(facts.waiting, COUNTED_MAX)} waiting, the oldest for {oldest}"
    else:
        waits = "nothing waits yet"
    return [Breach(scope=STORE, value=jobs, title="No worker is active", message=f"{waits}; {START_ONE}")]


def dead_letter_buildup(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> Breaches:
    if facts.sample is None or facts.sample.ended is None or _is_old(facts, settings):
        return None
    dead = facts.sample.ended.dead + facts.sample.ended.expired
    if dead <= rule.threshold:
        return ()
    message = (
        f"{counted(dead, 'dead letter')}, more than {rule.threshold:g}; look at them with: penstock dead list; then "
        "retry or purge them"
    )
    return [Breach(scope=STORE, value=dead, title="Dead letters build up", message=message)]


def stale_jobs(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> Breaches:
    """Those that are held now, and those that were given back for that reason in these minutes."""
    given_back = sum(row.figures.counts.get(Count.START_TIMEOUT, 0) for row in facts.rows)
    held, jobs = facts.signs.unstarted, facts.signs.unstarted_jobs
    if held is None and not given_back:
        return ()
    said = [f"{counted(given_back, 'job')} given back because none of them began in time"] if given_back else []
    if held is not None:
        since = about(facts.seconds_since(held.since))
        said.insert(0, f"{counted(jobs, 'job')} claimed and not begun; the oldest, {_which(held)}, for {since}")
    tags = {} if held is None else _tags(held)
    return [Breach(
        scope=STORE, value=jobs + given_back, title="Claimed jobs do not begin", message="; ".join(said), tags=tags
    )]  # fmt: skip


def missed_schedule(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> Breaches:
    look = "look for schedule.failed and schedule.missed in the log of the worker that leads"
    found: dict[str, Breach] = {}
    for name, times in facts.missed.items():
        said = f"it was missed {'once' if times == 1 else f'{times:,} times'}; {look}"
        found[name] = _missed(name, said, times)
    for row in facts.late:
        late = facts.seconds_since(row.next_at or facts.now)
        if late > rule.threshold:
            found[row.name] = _missed(row.name, f"it should have fired {about(late)} ago, and has not; {look}", late)
    return list(found.values())


def _missed(name: str, said: str, value: float) -> Breach:
    return Breach(scope=name, value=value, title=f"Schedule {name} was missed", message=said, tags={"schedule": name})


def unroutable_jobs(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> Breaches:
    """R5. Where no worker is active at all, that is told instead; but what fires is not over by that."""
    takers = takers_among(facts.workers)
    fires = {row.scope for row in facts.alerts if row.rule == "unroutable_jobs" and row.state == "firing"}
    found: dict[str, Breach] = {}
    for lane in stuck_lanes(facts.waiting, takers):
        scope = f"{lane.type} on {lane.queue}"
        if not takers:
            scope = scope if scope in fires else OTHERS
            if scope not in fires:
                continue
        reason, fix = why_stuck(lane, takers, facts.types)
        found.setdefault(scope, Breach(
            scope=scope, value=lane.jobs, title=f"No worker can run {lane.type}",
            message=f"{counted_jobs([lane], COUNTED_MAX)} of type {lane.type!r} waiting on {lane.queue!r}: "
            f"{reason}; {fix}",
            tags={"type": lane.type, "queue": lane.queue, "capability": lane.capability},
        ))  # fmt: skip
    return list(found.values())


def overlong_run(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> Breaches:
    """The longest run of each type that is too long."""
    found: dict[str, Breach] = {}
    for run in facts.signs.runs:
        seconds = facts.seconds_since(run.since)
        past = run.timeout is not None and seconds > run.timeout + TIMEOUT_GRACE_SECONDS
        if seconds > rule.threshold or past:
            why = f", which is past its timeout of {about(run.timeout or 0.0)}" if past else ""
            found.setdefault(run.type, Breach(
                scope=run.type, value=seconds, title=f"A job of type {run.type} runs for long",
                message=f"{_which(run)} has run for {about(seconds)}{why}; penstock jobs show {run.id}",
                tags=_tags(run),
            ))  # fmt: skip
    return list(found.values())


def store_filling(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> Breaches:
    room = facts.room
    if room is None or room.free >= rule.threshold:
        return ()
    message = (
        f"{format_size(room.free)} are left on its disk; the store has {format_size(room.used)}; when it is full "
        "nothing can be stored: free space, or let retention keep less"
    )
    return [Breach(scope=STORE, value=room.free, title="The store fills its disk", message=message)]


def figures_behind(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> Breaches:
    look = "other rules do not see what happens meanwhile; look at the log of the worker that leads"
    found: list[Breach] = []
    if _is_old(facts, settings):
        age = None if facts.sample is None else facts.seconds_since(facts.sample.at)
        said = "what waits was never counted" if age is None else f"what waits was counted {about(age)} ago"
        found.append(Breach(scope="sample", value=age, title="What waits is not counted", message=f"{said}; {look}"))
    unfolded = facts.signs.unfolded_at
    if unfolded is not None and facts.seconds_since(unfolded) > rule.threshold:
        age = facts.seconds_since(unfolded)
        said = f"the oldest page of figures has waited for {about(age)}"
        found.append(Breach(scope="pages", value=age, title="Figures are not folded", message=f"{said}; {look}"))
    return found


def no_leader(facts: AlertFacts, rule: RuleSettings, settings: AlertSettings) -> Breaches:
    """Whoever judges all this leads."""
    return ()


def _is_old(facts: AlertFacts, settings: AlertSettings) -> bool:
    sample = facts.sample
    if sample is None:
        return True
    patience = max(settings.rule("figures_behind").threshold, SAMPLE_REST_FACTOR * sample.seconds)
    return facts.seconds_since(sample.at) > patience


def _which(held: HeldSign) -> str:
    return f"{held.id} of type {held.type!r}" + (f" at worker {held.worker}" if held.worker else "")


def _tags(held: HeldSign) -> dict[str, str]:
    return {"type": held.type, "job_id": held.id, **({"worker": held.worker} if held.worker else {})}


JUDGED: Mapping[str, Rule] = {
    "high_timeout_rate": high_timeout_rate,
    "no_active_workers": no_active_workers,
    "dead_letter_buildup": dead_letter_buildup,
    "stale_jobs": stale_jobs,
    "final_failure": failures.final_failure,
    "critical_dead_letter": failures.critical_dead_letter,
    "missed_schedule": missed_schedule,
    "unroutable_jobs": unroutable_jobs,
    "overlong_run": overlong_run,
    NO_LEADER: no_leader,
    "store_filling": store_filling,
    "figures_behind": figures_behind,
}
"""All of the catalogue but that which says that alerts were held back: that is seen when they are told."""
assert len(JUDGED) == len(RULES) - 1
