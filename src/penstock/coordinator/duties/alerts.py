"""Looks at what is wrong, by rules, and tells it until it was heard (O3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from penstock.coordinator.alerting.alerting import Alerting
from penstock.coordinator.alerting.sending import Sending, in_thread
from penstock.coordinator.alerting.sinks import SEND_SECONDS_MAX, door, make_sinks
from penstock.coordinator.settings import CoordinatorSettings
from penstock.domain.errors import OutboundError, PenstockError
from penstock.observe.alerts.facts import RECENT_SECONDS, AlertFacts, read_facts
from penstock.observe.alerts.rules import JUDGED, Breaches, judge
from penstock.observe.logs import fields
from penstock.observe.redaction import log_error, told
from penstock.store.contract import Store

Ping = Callable[[str], Awaitable[None]]

log = logging.getLogger("penstock.alerts")


async def ping(url: str) -> None:
    """Say to an outside watcher that alerts are looked after."""
    await in_thread(lambda: door().post(url, b"", {}, timeout=SEND_SECONDS_MAX).expect_success())


class Alerts:
    name = "look for what is wrong"
    judges = True
    makes_work = False

    def __init__(
        self, store: Store, settings: CoordinatorSettings, sending: Sending | None = None, ping: Ping = ping
    ) -> None:
        self._store = store
        self._settings = settings.alerts
        self.interval = self._settings.interval
        self.alerting = Alerting(store, self._settings, sending or make_sending(settings))
        self._ping = ping
        self._unheard = False
        self._broken: set[str] = set()
        self._missed: dict[str, tuple[int, float]] = {}
        """By schedule how often it was missed, and when that was seen."""

    async def has_cause(self) -> bool:
        return False  # A worker that is about to end leaves it to the others.

    async def do(self, term: int) -> None:
        """What is wrong in here must not end the worker that leads."""
        try:
            await self._look(term)
        except PenstockError:
            raise
        except Exception as error:
            self._say_broken("looking for what is wrong", error)
        else:
            self._broken.discard("looking for what is wrong")

    async def _look(self, term: int) -> None:
        page = await self._store.read_alerts()
        facts = await read_facts(self._store, self._settings, page, self._lately_missed())
        found = {rule: self._judged(rule, facts) for rule in JUDGED}
        await self.alerting.settle(page, found, term)
        if self._settings.heartbeat_url is not None:
            await self._beat(self._settings.heartbeat_url)

    def _judged(self, rule: str, facts: AlertFacts) -> Breaches:
        """A rule that fails leaves its alerts as they are, and the others alone."""
        try:
            return judge(rule, facts, self._settings)
        except Exception as error:
            self._say_broken(f"the rule {rule} of alerts", error)
            return None

    def _say_broken(self, what: str, error: Exception) -> None:
        """Once."""
        if what not in self._broken:
            log_error(log, logging.ERROR, error, "%s failed", what)
        self._broken.add(what)

    def missed(self, times: Mapping[str, int]) -> None:
        """Schedules that were missed, as whoever fires them has seen it."""
        now = asyncio.get_running_loop().time()
        self._missed |= {name: (number, now) for name, number in times.items()}

    def _lately_missed(self) -> dict[str, int]:
        since = asyncio.get_running_loop().time() - RECENT_SECONDS
        self._missed = {name: one for name, one in self._missed.items() if one[1] > since}
        return {name: number for name, (number, _) in self._missed.items()}

    async def _beat(self, url: str) -> None:
        """A watcher that does not hear of it tells by itself; the log says why, once."""
        try:
            await self._ping(url)
        except OutboundError as error:
            if not self._unheard:
                log.error("alerts.heartbeat_url does not take the heartbeat: %s", told(error),
                          extra=fields("alerts.unheard", sink="heartbeat", reason=told(error)))  # fmt: skip
            self._unheard = True
        else:
            if self._unheard:
                log.warning("alerts.heartbeat_url takes the heartbeat again",
                            extra=fields("alerts.heard", sink="heartbeat"))  # fmt: skip
            self._unheard = False


def make_sending(settings: CoordinatorSettings) -> Sending:
    return Sending(make_sinks(settings.alerts.sinks))
