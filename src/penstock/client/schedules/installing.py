"""What programs declare, in code or in the config: installed when a worker starts (S2).

A declaration is compared with the one that was installed last, not with the schedule: so what people made of that since
stays, until the program declares something else. Part by part: another payload of the job is no reason to undo the
times that a person has given it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.client.client import Client
from penstock.client.schedules import edits
from penstock.client.schedules.plan import make_plan
from penstock.client.steps import Steps, awaited
from penstock.domain.errors import ConfigError, PenstockError, StoreBusy
from penstock.domain.registry import Registry
from penstock.observe.logs import fields
from penstock.store.contract import (
    ChangeSchedules,
    ReadSchedules,
    ScheduleChange,
    SchedulePage,
    SchedulePlan,
    ScheduleRow,
    SchedulesChanged,
    Store,
    decode_plan,
)

TRIES_MAX = 50
BY = "declaration"
PARTS = (("timing",), ("payload", "spec", "gates"), ("misfire",), ("grace",), ("limit",))
"""What is taken over together or not at all: a job with the payload of another would be no job."""

log = logging.getLogger("penstock.schedules")


class Configured(msgspec.Struct, frozen=True):
    """A schedule of the config: its job by name, since the config knows no handlers."""

    name: str
    type: str
    payload: dict[str, Any]
    options: dict[str, Any]
    when: dict[str, Any]


def configured_plans(found: tuple[Configured, ...], client: Client, registry: Registry) -> dict[str, SchedulePlan]:
    """The plans of those whose type is declared here. The others may be those of another program on this store."""
    plans: dict[str, SchedulePlan] = {}
    for one in found:
        if registry.find(one.type) is None:
            known = ", ".join(sorted(registry.names()))
            log.warning("the config schedules %s of type %s, which this app does not have; its types are: %s",
                        one.name, one.type, known)  # fmt: skip
            continue
        try:
            plans[one.name] = make_plan(client.call_by_name(one.type, one.payload, dict(one.options), {}), one.when)
        except PenstockError as error:
            raise ConfigError(f"schedules.{one.name}: {error}") from None
    return plans


def install_steps(store: Store, plans: Mapping[str, SchedulePlan]) -> Steps[None]:
    """Make the store have what is declared, and leave alone what people made of it since."""
    left = dict(plans)
    for _ in range(TRIES_MAX):
        if not left:
            return
        found: SchedulePage = yield store.read_schedules(ReadSchedules(tuple(left)))
        stored = {row.name: row for row in found.schedules}
        changes = [_installed(name, plan, stored.get(name), found.now) for name, plan in left.items()]
        wanted = [change for change in changes if change is not None]
        changed: SchedulesChanged | None = (yield store.change_schedules(ChangeSchedules(wanted))) if wanted else None
        done = changed.last if changed else {}
        for change in wanted:
            if change.name in done:
                _tell(change, stored.get(change.name))
        left = {change.name: left[change.name] for change in wanted if change.name not in done}
    raise StoreBusy(f"the schedules {', '.join(left)} were changed by others all the time; start again")


async def install(store: Store, plans: Mapping[str, SchedulePlan]) -> None:
    await awaited(install_steps(store, plans))


def _installed(name: str, plan: SchedulePlan, row: ScheduleRow | None, now: int) -> ScheduleChange | None:
    """What a declaration changes: nothing, as long as it is the one that was installed last."""
    if row is None:
        return ScheduleChange(name, edits.new_row(name, plan, now, BY, edits.encode_plan(plan)), None)
    before = None if row.declared is None else _plan_of(row, row.declared)
    if before == plan:
        return None
    current = _plan_of(row, row.plan)
    new = edits.with_plan(row, current, _merged(before, plan, current), now, BY)
    if row.status != "active":  # Who has stopped it, and when, is what people will ask.
        new = msgspec.structs.replace(new, changed_by=row.changed_by, changed_at=row.changed_at)
    return ScheduleChange(name, msgspec.structs.replace(new, declared=edits.encode_plan(plan)), row.revision)


def _merged(before: SchedulePlan | None, plan: SchedulePlan, current: SchedulePlan | None) -> SchedulePlan:
    """What is declared now where that differs from what was declared before; what there is, for the rest."""
    if before is None or current is None:
        return plan
    stays = [part for part in PARTS if all(getattr(plan, name) == getattr(before, name) for name in part)]
    return msgspec.structs.replace(plan, **{name: getattr(current, name) for part in stays for name in part})


def _plan_of(row: ScheduleRow, text: str) -> SchedulePlan | None:
    try:
        return decode_plan(msgspec.structs.replace(row, plan=text))
    except ConfigError:
        return None


def _tell(change: ScheduleChange, before: ScheduleRow | None) -> None:
    assert change.row is not None
    timing = decode_plan(change.row).timing
    if before is None:
        log.info("schedule %s installed: %s", change.name, timing,
                 extra=fields("schedule.installed", schedule=change.name))  # fmt: skip
    else:
        log.info("schedule %s changed as it is declared now: %s; it is %s", change.name, timing, before.status,
                 extra=fields("schedule.changed", schedule=change.name))  # fmt: skip
