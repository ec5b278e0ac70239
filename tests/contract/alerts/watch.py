"""The duty that looks for what is wrong, on a store whose clock a test moves; and sinks that keep what they got."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.coordinator.alerting.sending import Sending
from penstock.coordinator.duties.alerts import Alerts
from penstock.coordinator.settings import CoordinatorSettings
from penstock.domain.errors import OutboundFailed
from penstock.observe.alerts.settings import AlertSettings, RuleSettings
from penstock.outbound.message import AlertMessage
from penstock.store import contract as p
from tests.contract.world import World

T = TypeVar("T")
QUIET = 61.0
OFF = RuleSettings(on=False)


async def here(work: Callable[[], T]) -> T:
    """In place of a thread."""
    return work()


@dataclass
class Kept:
    """A sink. While it is `broken` nothing arrives; `killed` ends whoever sends, after it has arrived."""

    name: str = "ops"
    got: list[AlertMessage] = field(default_factory=list)
    broken: Exception | None = None
    killed: bool = False

    def send(self, message: AlertMessage) -> None:
        if self.broken is not None:
            raise self.broken
        self.got.append(message)
        if self.killed:
            raise KeyboardInterrupt

    def said(self) -> list[tuple[str, str, str]]:
        """What came since the last time that somebody asked."""
        found: list[tuple[str, str, str]] = [(one.state, one.rule, one.scope) for one in self.got]
        self.got.clear()
        return found


def answered_500() -> OutboundFailed:
    return OutboundFailed("https://ops.example answered 500", 500)


class Watch:
    """Whoever leads, and looks. All of what it knows is in the store."""

    def __init__(self, world: World, name: str, *sinks: Kept, carry_out: Any = here, **settings: Any) -> None:
        self.world = world
        self.session = world.register(name)
        self.term = 0
        self.lead()
        rules = {
            "figures_behind": RuleSettings(on=False, threshold=600.0),
            "store_filling": OFF,
            **settings.pop("rules", {}),
        }
        alerts = AlertSettings(rules=rules, **settings)
        self.sinks = {sink.name: sink for sink in sinks}
        self.pinged: list[str] = []
        self.unreachable: Exception | None = None
        sending = Sending(
            self.sinks, clock=world.clock, carry_out=carry_out, pause=lambda seconds: None, chance=lambda: 0.5
        )
        self.duty = Alerts(world.store, CoordinatorSettings(alerts=alerts), sending, self._ping)

    async def _ping(self, url: str) -> None:
        if self.unreachable is not None:
            raise self.unreachable
        self.pinged.append(url)

    def lead(self) -> None:
        self.term = self.world.store.lead_store(p.LeadStore(self.session, 1e6)).wait().term

    def resign(self) -> None:
        self.world.store.lead_store(p.LeadStore(self.session, None)).wait()

    def run(self, main: Callable[[], Awaitable[Any]]) -> None:
        async def whole() -> None:
            await main()

        asyncio.run(whole())

    def look(self, seconds: float = 0.0, alive: bool = True) -> None:
        """After so long."""
        if seconds:
            self.world.clock.advance(seconds)
        if alive:
            self.world.heartbeat(self.session)
        self.run(lambda: self.duty.do(self.term))

    def rows(self) -> dict[tuple[str, str], p.AlertRow]:
        return {(row.rule, row.scope): row for row in self.world.store.read_alerts().wait().alerts}


def counted(world: World, book: str, **counts: int) -> None:
    """A worker sends what it has counted of the type mail."""
    from penstock.domain.figures.series import Count, Route, Tally

    tally = Tally()
    for name, number in counts.items():
        tally.of(Route("mail", "default", "general")).count(Count(name), times=number)
    session = world.register(f"counts {book}".replace(" ", "-"))
    world.store.heartbeat_worker(p.HeartbeatWorker(session, "inactive", p.Page(book, 1, tally))).wait()


def sampled(world: World, dead: int = 0, age: float = 0.0) -> None:
    at = world.clock.now_us() - round(age * 1_000_000)
    world.store.store_sample(p.StoreSample(at, 0.1, (), p.Ended(dead=dead))).wait()
