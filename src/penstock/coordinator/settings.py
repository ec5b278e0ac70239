"""How the coordinator does its duties: every value with its unit and default."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.observe.alerts.settings import AlertSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long ended jobs are kept, in seconds; None keeps them until a person purges them."""

    completed: float = 7 * 86400.0
    cancelled: float = 7 * 86400.0
    dead: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorSettings:
    stale_after: float = 30.0
    """A worker is lost when it was not heard of for this long; one that registered with more patience, after that."""
    lease: float = 10.0
    """How long the lead lasts without being renewed; so long nobody leads after a leader has died."""
    recovery_interval: float = 5.0
    start_timeout: float = 300.0
    start_check_interval: float = 60.0
    probe_interval: float = 30.0
    prune_interval: float = 60.0
    schedule_interval: float = 1.0
    """How soon a new schedule is noticed, at most; known ones are fired at their time."""
    sample_interval: float = 5.0
    """How often what waits is counted, at most."""
    fold_interval: float = 30.0
    """How often what was counted goes into the rows that are kept."""
    retention: Retention = field(default_factory=Retention)
    ageing: float | None = None
    """A job that was due for n times this long has at least the priority n; None never raises one."""
    alerts: AlertSettings = field(default_factory=AlertSettings)
    failing_queues: tuple[str, ...] = ()
    """Queues whose jobs fail while no live worker can run them."""
