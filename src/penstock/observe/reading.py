"""Reads what the judgement of health needs, in a thread of its own: a store that hangs cannot be interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from penstock.domain.clock import Clock
from penstock.domain.flow.pauses import Pauses
from penstock.observe.health import COUNTED_MAX, DEAD_COUNTED_MAX, Facts
from penstock.store.contract import CountDead, CountWaiting, Store

PINGS = 2


class Reading:
    """One look at the store that `find` gives, begun at once. It goes on when nobody waits for it any more."""

    def __init__(self, find: Callable[[], Store], clock: Clock, durability: str | None = None) -> None:
        self._find = find
        self._clock = clock
        self._facts = Facts(durability=durability)
        self.begun = clock.monotonic()
        self.ended: float | None = None
        self._thread = threading.Thread(target=self._run, name="penstock-health-reading", daemon=True)
        self._thread.start()

    def wait(self, timeout: float) -> Facts:
        """What is known at the end of it, or after `timeout` seconds."""
        self._thread.join(timeout)
        return replace(self._facts, late=timeout) if self._thread.is_alive() else self._facts

    @property
    def durability(self) -> str | None:
        return self._facts.durability

    def _run(self) -> None:
        try:
            read_facts(self._find(), self._clock, self._facts)
        except Exception as error:
            self._facts.error = str(error) or type(error).__name__
        finally:
            self.ended = self._clock.monotonic()


def read_facts(store: Store, clock: Clock, facts: Facts) -> None:
    """Fill in what is not known yet, the most important first, so that whoever stops waiting has something."""
    store.read_clock().wait()  # The first answer includes opening.
    facts.ping = min(_ping(store, clock, facts) for _ in range(PINGS))
    facts.workers = store.list_workers().wait()
    facts.pauses = Pauses(store.list_pauses().wait())
    facts.lanes = store.count_waiting(CountWaiting(COUNTED_MAX)).wait()
    facts.queues = store.count_queues().wait()
    facts.dead = store.count_dead(CountDead(DEAD_COUNTED_MAX)).wait()
    facts.alerts = store.read_alerts().wait()
    facts.durability = facts.durability or store.info.durability


def _ping(store: Store, clock: Clock, facts: Facts) -> float:
    before = clock.monotonic()
    facts.now_us = store.read_clock().wait()
    return clock.monotonic() - before
