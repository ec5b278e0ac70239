"""Alerts as they are kept: changed by who knows them as they are, silenced by people."""

from __future__ import annotations

import msgspec
import pytest

from penstock.domain.errors import ConfigError, NotLeader
from penstock.store import contract as p
from tests.contract.conftest import CarryOut, Hand, OpenAgain
from tests.contract.engines import Engine
from tests.contract.world import World

DAY = 86400.0
LATER = 2_000_000_000_000_000


def row(rule: str = "stale_jobs", scope: str = "store", **fields: object) -> p.AlertRow:
    known = {
        "state": "firing", "severity": "warning", "key": "key-1", "since": 5, "title": "Jobs do not begin",
        "message": "one", **fields,
    }  # fmt: skip
    return p.AlertRow(rule=rule, scope=scope, **known)  # type: ignore[arg-type]


def change(world: World, *changes: p.AlertChange, term: int | None = None) -> list[tuple[str, str]]:
    return world.store.change_alerts(p.ChangeAlerts(changes, term)).wait()


def new(world: World, *rows: p.AlertRow) -> list[tuple[str, str]]:
    return change(world, *(p.AlertChange(one, None) for one in rows))


def read(world: World) -> list[p.AlertRow]:
    return list(world.store.read_alerts().wait().alerts)


def silence(world: World, rule: str = "stale_jobs", **fields: object) -> p.Silence | None:
    asked = p.SilenceAlerts(rule=rule, **{"seconds": 60.0, "actor": "ann", **fields})  # type: ignore[arg-type]
    return world.store.silence_alerts(asked).wait()


def test_there_are_none_at_first(world: World, carry_out: CarryOut) -> None:
    page = carry_out(world.store.read_alerts())
    assert (page.alerts, page.silences) == ([], [])
    assert page.now == world.clock.now_us()


def test_every_field_reads_back(world: World) -> None:
    told = {"ops": p.Told(sent="firing", arrived=True), "chat": p.Told(sent="firing", error="answered 500")}
    full = row(
        fired_at=6, quiet_at=7, resolved_at=LATER, value=1.5, tags={"type": "mail \u00e9"}, told=told, sent=(6, 9),
        state="resolved", severity="critical",
    )  # fmt: skip
    assert new(world, full) == [("stale_jobs", "store")]
    assert read(world) == [msgspec.structs.replace(full, revision=1)]


def test_it_is_changed_by_who_knows_it_as_it_is(world: World, open_again: OpenAgain) -> None:
    other = open_again()
    new(world, row())
    [known] = read(world)
    resolved = msgspec.structs.replace(known, state="resolved", resolved_at=LATER)
    assert change(other, p.AlertChange(resolved, known.revision)) == [("stale_jobs", "store")]
    assert change(world, p.AlertChange(msgspec.structs.replace(known, value=2.0), known.revision)) == []
    assert read(world) == [msgspec.structs.replace(resolved, revision=2)]


def test_of_two_who_make_one_at_once_one_does(world: World, open_again: OpenAgain) -> None:
    assert new(world, row(key="mine")) == [("stale_jobs", "store")]
    assert new(open_again(), row(key="other"), row(scope="b")) == [("stale_jobs", "b")]
    assert sorted(one.key for one in read(world)) == ["key-1", "mine"]


def test_a_leader_of_the_past_changes_nothing(world: World) -> None:
    first, second = world.register("one"), world.register("two")
    term = world.store.lead_store(p.LeadStore(first, 10.0)).wait().term
    assert change(world, p.AlertChange(row(), None), term=term) == [("stale_jobs", "store")]
    world.clock.advance(11)
    world.heartbeat(second)
    world.store.lead_store(p.LeadStore(second, 10.0)).wait()
    with pytest.raises(NotLeader):
        change(world, p.AlertChange(row(scope="late"), None), term=term)
    assert len(read(world)) == 1


def test_those_that_fire_come_first_and_what_was_resolved_long_ago_is_removed(world: World) -> None:
    now = world.clock.now_us()
    new(world, row(scope="old", resolved_at=now - 10), row(scope="new", resolved_at=now - 5), row(scope="fires"))
    assert [one.scope for one in read(world)] == ["fires", "new", "old"]
    world.clock.advance(8 * DAY)
    change(world)
    assert [one.scope for one in read(world)] == ["fires"]


def test_what_cannot_be_read_of_one_hides_no_other(world: World, hand: Hand) -> None:
    new(world, row(), row(scope="b", told={"ops": p.Told(sent="firing")}, sent=(1,)))
    hand("UPDATE penstock.alert SET told = 'x', tags = '[', sent = '{' WHERE scope = 'b'")
    broken, whole = sorted(read(world), key=lambda one: one.scope)
    assert (broken.told, broken.tags, broken.sent) == ({}, {}, ())
    assert whole.scope == "store"


# Silences


def test_a_silence_holds_for_its_time_and_scope(world: World) -> None:
    now = world.clock.now_us()
    found = silence(world, scope="mail", reason="known")
    assert found == p.Silence(
        rule="stale_jobs", scope="mail", since=now, until=now + 60_000_000, actor="ann", reason="known"
    )
    assert list(world.store.read_alerts().wait().silences) == [found]
    assert found.holds("stale_jobs", "mail", now)
    assert not found.holds("stale_jobs", "other", now)
    assert not found.holds("stale_jobs", "mail", found.until)
    assert not found.holds("unroutable_jobs", "mail", now)


def test_a_silence_of_every_scope_is_replaced_and_ended(world: World) -> None:
    silence(world)
    world.clock.advance(1)
    found = silence(world, actor="bob", seconds=10.0)
    assert found is not None
    assert (found.scope, found.actor, found.until - found.since) == (None, "bob", 10_000_000)
    assert found.holds("stale_jobs", "any", world.clock.now_us())
    assert silence(world, scope="mail", seconds=None) is None
    assert silence(world, seconds=None) == found
    assert silence(world, seconds=None) is None
    assert world.store.read_alerts().wait().silences == []


def test_silences_that_ended_long_ago_are_removed(world: World) -> None:
    silence(world)
    world.clock.advance(8 * DAY)
    change(world)
    assert world.store.read_alerts().wait().silences == []


def test_a_reason_that_cannot_be_kept_is_refused() -> None:
    with pytest.raises(ConfigError):
        p.SilenceAlerts(rule="stale_jobs", seconds=1.0, reason="x" * 10_000)


def test_who_silenced_what_is_audited(world: World, engine: Engine, address: str) -> None:
    silence(world, reason="known")
    silence(world, seconds=None)
    silence(world, seconds=None)
    with world.store.transaction() as tx:
        rows = tx.execute(f"SELECT actor, action FROM {engine.table(address, 'audit')} ORDER BY entry")
    assert [tuple(one) for one in rows] == [("ann", "silence"), ("ann", "unsilence")]
