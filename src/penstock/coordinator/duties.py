"""All duties of the leader. Each is one file, and one entry here."""

from __future__ import annotations

from collections.abc import Callable

from penstock.coordinator.ageing import Ageing
from penstock.coordinator.duty import Duty
from penstock.coordinator.expiry import Expiry
from penstock.coordinator.gates import Gates
from penstock.coordinator.ownerless import Ownerless
from penstock.coordinator.probes import Probes
from penstock.coordinator.recovery import Recovery
from penstock.coordinator.retention import Pruning
from penstock.coordinator.routing import Routing
from penstock.coordinator.schedules import Schedules
from penstock.coordinator.settings import CoordinatorSettings
from penstock.coordinator.start_timeout import StartTimeout
from penstock.coordinator.workflows import Workflows
from penstock.store.contract import Store

DUTIES: tuple[Callable[[Store, CoordinatorSettings], Duty], ...] = (
    Recovery, Ownerless, StartTimeout, Expiry, Gates, Ageing, Routing, Workflows, Probes, Pruning, Schedules,
)  # fmt: skip
