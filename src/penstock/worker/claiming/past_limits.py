"""Jobs that came past a limit: the config limits their whole queue or type, and nobody put them under it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from penstock.domain.flow.gates import Limit, Wholes
from penstock.store.contract import Claim

log = logging.getLogger("penstock.worker")


class PastLimits:
    """Tells of each such queue and type once: whoever enqueues there does not read the config, or did so before it."""

    def __init__(self, limits: Iterable[Limit]) -> None:
        self._wholes = Wholes(limits)
        self._told: set[str] = set()

    def look(self, claims: Sequence[Claim]) -> None:
        if not self._wholes:
            return
        for claim in claims:
            passed = {gate.name for gate in claim.gates or ()}
            for gate in self._wholes.gates_of(claim.type, claim.queue):
                if gate.name not in passed and gate.key not in self._told:
                    self._told.add(gate.key)
                    self._tell(gate.key, claim)

    def _tell(self, key: str, claim: Claim) -> None:
        log.warning(
            "the limit of %s does not hold for %s %s: it was enqueued before the limit was set, or by a program "
            "without this config (App.from_config() reads it)",
            key,
            claim.type,
            claim.id,
        )
