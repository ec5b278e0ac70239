"""Tells that nobody leads, by any process that could: whatever watches the rest is a duty of the leader.

One of them tells it: whose change of the alert the store has taken. While the store itself does not answer each says so
once, in its log. Whoever leads next resolves it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from penstock.coordinator.alerting.alerting import Alerting
from penstock.domain.failure.interrupted import let_interrupt_out
from penstock.observe.alerts.catalogue import NO_LEADER, STORE
from penstock.observe.alerts.facts import Breach
from penstock.observe.alerts.settings import AlertSettings
from penstock.observe.logs import fields
from penstock.observe.redaction import told
from penstock.observe.words import about
from penstock.store.contract import Store

LOOK_SECONDS = 5.0
TITLE = "Nobody leads"

log = logging.getLogger("penstock.alerts")


class Unled:
    def __init__(self, store: Store, settings: AlertSettings, alerting: Alerting) -> None:
        self._store = store
        self._rule = settings.rule(NO_LEADER)
        self._alerting = alerting
        self._said = False
        """Whether the log has it."""

    async def run(self, unled_seconds: Callable[[], float]) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._rule.on:
                await self.look(unled_seconds())

    async def look(self, seconds: float) -> None:
        if seconds <= self._rule.threshold:
            self._said = False
            return
        try:
            page = await self._store.read_alerts()
            await self._alerting.settle(page, {NO_LEADER: [_breach(seconds)]}, term=None)
        except Exception as error:  # It must not end the worker that tells.
            let_interrupt_out(error)
            self._say(seconds, error)

    def _say(self, seconds: float, error: Exception) -> None:
        if not self._said:
            self._said = True
            log.critical("%s, as far as it is known here, for %s, and the store does not take it: %s", TITLE.lower(),
                         about(seconds), told(error), extra=fields("alerts.unled", reason=told(error)))  # fmt: skip


def _breach(seconds: float) -> Breach:
    message = (
        f"for {about(seconds)} nobody has done what is done for all: jobs of lost workers are not taken back, no "
        "schedule fires and no other alert is noticed; look for leader.elected and trouble.began in the logs of the "
        "workers, and for penstock doctor"
    )
    return Breach(scope=STORE, value=round(seconds), title=TITLE, message=message)
