"""A store in which there is something of everything, so that any two operations find the same jobs, gates and workers.

It is made once, kept, and put back before each interleaving.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event
from penstock.domain.options import Tenant, Unique
from penstock.store import contract as p
from tests.contract.flows import Flow, end
from tests.contract.world import World, policy_text

LEASE = 100.0
WAITED = 200.0
TTL = 60.0
AT_ONCE = Gate("key:one", 1, None, "key:one")
IN_ORDER = Gate("key:line", 1, None, "key:line", ordered=True)
RATE = Gate("rate:slow", 1, 100 * MICROSECONDS, "rate:slow")
FREE = Gate("key:free", 1, None, "key:free")
BEHIND = Gate("key:behind", 1, None, "key:behind", ordered=True)
LASTING = Gate("rate:long", 1, 10_000 * MICROSECONDS, "rate:long")
UNIQUE, ENDED_UNIQUE = Unique("the only one"), Unique("of one that has ended")
LATE_UNIQUE, LATE_IN_LINE = Unique("of one that is overdue"), Unique("of one that is overdue in a line")
PAUSED = "paused"
SHARED = "shared"
EFFECT = "effect"


@dataclass
class Stage:
    """What was put there. Leases are held by the worker `one`, which has not been heard of for a while."""

    world: World
    one: int = 0
    two: int = 0
    term: int = 0
    leased: dict[str, p.Claim] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    flows: dict[str, Flow] = field(default_factory=dict)
    schedule: p.ScheduleRow | None = None

    def make(self) -> None:
        world = self.world
        self.one, self.two = world.register("one"), world.register("two")
        self._make_leases()
        self._make_limits()
        self._make_ended()
        self._make_flows()
        self.waiting |= {
            "plain": world.add(),
            "other": world.add(),
            "overdue": world.add(ttl=TTL, unique=LATE_UNIQUE),
            "later": world.add(delay=3600.0),
            "unique": world.add(unique=UNIQUE),
            "tenant": world.add(tenant=Tenant("acme")),
            "another": world.add(tenant=Tenant("zeta")),
            "paused": world.add(type=PAUSED),
            "in turn": world.add(queue=SHARED, tenant=Tenant("acme")),
            "makes room": world.add(queue=SHARED, tenant=Tenant("acme")),
            "in turn too": world.add(queue=SHARED, tenant=Tenant("zeta")),
        }
        for name in ("free", "not free"):
            self.waiting[name] = world.enqueue(self.with_gates(FREE, priority=5))[0].id
        self._make_line()
        world.pause("type", PAUSED)
        now = world.clock.now_us()
        row = p.ScheduleRow(name="nightly", plan="{}", next_at=now, created_at=now, changed_at=now)
        world.store.change_schedules(p.ChangeSchedules([p.ScheduleChange("nightly", row, None)])).wait()
        [self.schedule] = world.store.read_schedules(p.ReadSchedules()).wait().schedules
        self.term = world.store.lead_store(p.LeadStore(self.two, LEASE)).wait().term
        world.clock.advance(WAITED / 2)
        world.heartbeat(self.one)  # What it has claimed and not begun, it could have.
        world.clock.advance(WAITED / 2)
        world.heartbeat(self.two)

    def _make_leases(self) -> None:
        world = self.world
        names = ("running", "held", "spent", "cancelled")
        for name in names:
            world.add(policy=policy_text(attempts=1) if name == "spent" else None)
        self.leased |= dict(zip(names, world.claim(self.one), strict=True))
        self._make_effects()
        world.start(self.leased["running"])
        world.cancel(self.leased["cancelled"].id)

    def _make_limits(self) -> None:
        """Before each gate one holds it, and two wait, of which one is overdue. Another is there and free."""
        for name, gate in {"gated": AT_ONCE, "ordered": IN_ORDER, "slow": RATE, "long": LASTING}.items():
            unique = LATE_IN_LINE if gate is IN_ORDER else None
            jobs = [self.with_gates(gate), self.with_gates(gate), self.with_gates(gate, ttl=TTL, unique=unique)]
            self.world.enqueue(*jobs)
            [self.leased[name]] = self.world.claim(self.one)
            self.waiting |= {f"{name} parked": jobs[1].id, f"{name} overdue": jobs[2].id}
        self.world.enqueue(self.with_gates(FREE))
        self.world.complete(*self.world.claim(self.one))

    def _make_effects(self) -> None:
        """One that its attempt has begun, and one that an earlier attempt has: nobody knows whether it was run."""
        world = self.world
        world.add()
        [earlier] = world.claim(self.one)
        for claim in (self.leased["running"], earlier):
            world.store.begin_once(p.BeginOnce(claim.token, EFFECT)).wait()
        world.end(earlier, Event.RELEASE)
        [self.leased["again"]] = world.claim(self.one)

    def _make_line(self) -> None:
        """Nobody holds the gate: the first in line is of a paused type, and overdue. The other waits for it."""
        for job in (self.with_gates(BEHIND, type=PAUSED, ttl=TTL), self.with_gates(BEHIND, type="behind")):
            self.world.enqueue(job)
        assert not self.world.claim(self.one, types=("behind",))

    def with_gates(self, *gates: Gate, **fields: Any) -> p.NewJob:
        return msgspec.structs.replace(self.world.new_job(**fields), gates=gates)

    def _make_ended(self) -> None:
        world = self.world
        self.ended |= {name: world.add_dead(self.one) for name in ("dead", "dead too")}
        self.ended["done"] = world.add(unique=ENDED_UNIQUE)
        world.complete(*world.claim(self.one))
        self.ended["counted"] = world.add()
        world.complete(*world.claim(self.one), keep=0)

    def _make_flows(self) -> None:
        """One under way, one that has failed, and one that does not know yet that its job has ended."""
        for name in ("flow", "failed", "unsettled"):
            self.flows[name] = Flow(self.world, ("a", 2), ("b", 1, ("a",)), compensate=True).enqueue()
            claims = self.world.claim(self.one, types=("a",))
            if name == "flow":
                self.leased |= dict(zip(("member", "sibling"), claims, strict=True))
            elif name == "failed":
                for claim in claims:
                    end(self.world, claim)
                self.world.complete(*self.world.claim(self.one, types=("undo",)))
            else:
                self.world.complete(*claims)
