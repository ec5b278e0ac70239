"""All duties of the leader. Each is one file, and one entry here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.coordinator.duties.ageing import Ageing
from penstock.coordinator.duties.alerts import Alerts
from penstock.coordinator.duties.expiry import Expiry
from penstock.coordinator.duties.folding import Folding
from penstock.coordinator.duties.gates import GateTending
from penstock.coordinator.duties.ownerless import Ownerless
from penstock.coordinator.duties.probes import Probes
from penstock.coordinator.duties.recovery import Recovery
from penstock.coordinator.duties.retention import Pruning
from penstock.coordinator.duties.routing import Routing
from penstock.coordinator.duties.sampling import Sampling
from penstock.coordinator.duties.schedules import Firing
from penstock.coordinator.duties.start_timeout import StartTimeout
from penstock.coordinator.duties.workflows import WorkflowSteps
from penstock.coordinator.duty import Duty
from penstock.coordinator.settings import CoordinatorSettings
from penstock.store.contract import Store

DUTIES: tuple[Callable[[Store, CoordinatorSettings], Duty], ...] = (
    Recovery, Ownerless, StartTimeout, Expiry, GateTending, Ageing, Routing, WorkflowSteps, Probes, Pruning, Firing,
    Sampling, Folding, Alerts,
)  # fmt: skip


def link_alerts(duties: Iterable[Duty]) -> Alerts:
    """The one that tells what is wrong; whoever fires schedules tells it which were missed."""
    found = list(duties)
    [alerts] = [duty for duty in found if isinstance(duty, Alerts)]
    for duty in found:
        if isinstance(duty, Firing):
            duty.on_missed = alerts.missed
    return alerts
