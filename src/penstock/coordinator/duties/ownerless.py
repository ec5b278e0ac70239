"""Takes back jobs whose worker has no row any more. There is nobody to judge, so nobody has to be watched first.

Only a hand in the tables makes them: they are looked for when somebody begins to lead, and then once a minute.
"""

from __future__ import annotations

from penstock.coordinator.duties.gates import ROUNDS
from penstock.coordinator.duties.recovery import recover
from penstock.coordinator.settings import CoordinatorSettings
from penstock.store.contract import RecoverJobs, Store


class Ownerless:
    name = "look for jobs of workers whose rows are gone"
    judges = False
    makes_work = True

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self._stale_after = settings.stale_after
        self.interval = settings.recovery_interval

    async def do(self, term: int) -> float:
        await recover(self._store, RecoverJobs(self._stale_after, term=term, unheard=()))
        return ROUNDS * self.interval
