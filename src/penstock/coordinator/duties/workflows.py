"""Tells workflows of jobs that ended without them: expired, cancelled while they waited, lost with their worker."""

from __future__ import annotations

from penstock.coordinator.settings import CoordinatorSettings
from penstock.store.contract import SettleWorkflows, Store

PAGE = 1000


class WorkflowSteps:
    name = "look after workflows"
    judges = False
    makes_work = True

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self.interval = settings.recovery_interval

    async def do(self, term: int) -> None:
        while (await self._store.settle_workflows(SettleWorkflows(term, PAGE))).jobs >= PAGE:
            pass
