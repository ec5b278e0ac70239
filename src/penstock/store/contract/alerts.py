"""Alerts: what is wrong and who was told of it, so that a take-over neither repeats nor forgets; what people have
silenced; and the small looks at the store that rules need beside the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from penstock.domain.options import check_reason
from penstock.store.call import Call

AlertState = Literal["pending", "firing", "resolved"]
Severity = Literal["info", "warning", "high", "critical"]

ALERTS_READ_MAX = 1_000
"""Those that are not resolved come first."""
LEASES_LOOKED_AT_MAX = 10_000
"""Of the oldest claims no more are looked at, so that no look takes longer the more jobs run."""
RUNS_TOLD_MAX = 100


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """How far one sink was told: what it was sent last, and whether that is known to have arrived. Otherwise it is sent
    again, until it was `given_up`; `error` is why the last try failed. `at` is when somebody took it upon himself last,
    in turns of a minute.
    """

    sent: Literal["firing", "resolved"]
    at: int = 0
    arrived: bool = False
    given_up: bool = False
    error: str | None = None


class AlertRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that says that something (its scope) is wrong, or was. `key` names this occurrence, from `since` to
    `resolved_at`; `quiet_at` is since when its cause is gone. `sent` are the moments of the last hour at which people
    were told that it fires.
    """

    rule: str
    scope: str
    state: AlertState
    severity: Severity
    key: str
    since: int
    fired_at: int | None = None
    quiet_at: int | None = None
    resolved_at: int | None = None
    value: float | None = None
    title: str
    message: str
    tags: Mapping[str, str] = {}
    told: Mapping[str, Told] = {}
    sent: Sequence[int] = ()
    revision: int = 0


class AlertChange(msgspec.Struct, frozen=True):
    """The row as it is to be. It is stored if the stored one has this `revision`; None: if there is none yet."""

    row: AlertRow
    revision: int | None


class ChangeAlerts(msgspec.Struct, frozen=True):
    """The `term` of a leader fences it; who only sees that nobody leads has none. What was resolved `forget_seconds`
    ago is removed, and so are silences that ended then.
    """

    changes: Sequence[AlertChange]
    term: int | None = None
    forget_seconds: float = 7 * 86400.0


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """Nobody is told that this rule fires. Without a scope that is so for all of them."""

    rule: str
    scope: str | None
    since: int
    until: int
    actor: str
    reason: str | None = None

    def holds(self, rule: str, scope: str, now: int) -> bool:
        return self.rule == rule and self.scope in (None, scope) and now < self.until


class SilenceAlerts(msgspec.Struct, frozen=True, kw_only=True):
    """For so many `seconds`, in place of a silence of before; None ends one."""

    rule: str
    scope: str | None = None
    seconds: float | None
    actor: str = "client"
    reason: str | None = None

    def __post_init__(self) -> None:
        check_reason(self.reason)


class AlertPage(msgspec.Struct, frozen=True):
    alerts: Sequence[AlertRow]
    silences: Sequence[Silence]
    now: int


class ReadSigns(msgspec.Struct, frozen=True, kw_only=True):
    """`dead_since`: dead letters from that moment on, `limit` at most. `unstarted_seconds`: claims that are as old."""

    dead_since: int
    unstarted_seconds: float
    limit: int = 200


class DeadSign(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter, and why it is one."""

    id: str
    type: str
    org: str | None
    attempt: int
    error: str | None


class HeldSign(msgspec.Struct, frozen=True, kw_only=True):
    """A job that a worker has since a moment. `timeout` is for how long it may run, if there is a bound."""

    id: str
    type: str
    worker: str | None
    since: int
    timeout: float | None


class Signs(msgspec.Struct, frozen=True, kw_only=True):
    """The newest dead letters, the newest first; the oldest claim that has not begun, with how many there are; the runs
    that have lasted longest; and since when the oldest page of figures waits to be folded.
    """

    dead: Sequence[DeadSign] = ()
    unstarted: HeldSign | None = None
    unstarted_jobs: int = 0
    runs: Sequence[HeldSign] = ()
    unfolded_at: int | None = None


class Room(msgspec.Struct, frozen=True):
    """How many bytes a store may still grow, and how many it has."""

    free: int
    used: int


class AlertStore(Protocol):
    """Keeping alerts, and seeing what they are about."""

    def read_alerts(self) -> Call[AlertPage]:
        """The alerts that are not resolved and the newest of those that are, with all silences that are kept."""
        ...

    def change_alerts(self, params: ChangeAlerts) -> Call[list[tuple[str, str]]]:
        """Store alerts that are still as they were taken to be; answers the rule and the scope of each that was stored.

        Of two who change one at once one is stored, and the other one's is not.
        """
        ...

    def silence_alerts(self, params: SilenceAlerts) -> Call[Silence | None]:
        """Silence a rule, or end that; answers the silence that holds now, or has ended. None: there was none.
        Audited.
        """
        ...

    def read_signs(self, params: ReadSigns) -> Call[Signs]:
        """A few small looks, each bounded, in one consistent view."""
        ...

    def read_room(self) -> Call[Room | None]:
        """How much room the store has. None where an engine cannot tell cheaply."""
        ...
