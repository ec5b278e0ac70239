"""Any two operations at once leave a store in which everything holds: a part of all pairs, another one with each
commit.

`python -m tests.nets interleavings --all` runs them all; `--seed N` those of a commit.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing

import pytest
from psycopg.errors import DeadlockDetected

from tests.nets.ablations import SAFEGUARDS, Safeguard, noticed
from tests.nets.draw import ALWAYS, draw, seed
from tests.nets.holding import Doing, Hold, Path
from tests.nets.interleavings import Net
from tests.nets.many import PAIRS, run_pair, some
from tests.postgres.processes import wait_until

DRAWN = 8
HOLDS_MAX = 8
HOLDS_EACH = 5
PARTS = 100
SEED = seed()


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    with closing(Net()) as net:
        yield net


def check(net: Net, pair: tuple[str, str], most: int | None) -> None:
    told = run_pair(net, *pair, list if most is None else some(most, random.Random(SEED)))
    assert told.holds > len(told.missed)
    assert not told.found, "\n".join([f"seed {SEED}", *(f"{one}: {one.problems}" for one in told.found)])


@pytest.mark.parametrize("pair", ALWAYS, ids=" × ".join)
def test_what_was_a_defect_once_stays_mended(net: Net, pair: tuple[str, str]) -> None:
    check(net, pair, None)


@pytest.mark.parametrize("place", range(DRAWN))
def test_everything_holds_after_two_operations_at_once(net: Net, place: int) -> None:
    check(net, draw(SEED, DRAWN)[place], HOLDS_MAX)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_everything_holds_after_any_two_operations_at_once(net: Net, part: int) -> None:
    """All pairs, each held at some of its places; `make interleave` holds them at all."""
    for pair in draw(0, len(PAIRS))[part::PARTS]:
        check(net, pair, HOLDS_EACH)


@pytest.mark.turns
@pytest.mark.parametrize("safeguard", SAFEGUARDS.values(), ids=lambda one: one.name)
def test_without_a_safeguard_an_interleaving_finds_it(net: Net, safeguard: Safeguard) -> None:
    caught = noticed(net, safeguard)
    assert caught, f"{safeguard.name}: nobody notices that it is gone"
    whole = net.run(*safeguard.caught_by, caught.hold)
    assert whole.held
    assert not whole.problems


# The net itself


def test_each_kind_of_hold_holds(net: Net) -> None:
    """And the second meets the first where it is held: it waits for it, or does not."""
    kinds = {hold.kind: net.run("cancel what waits", "claim", hold) for hold in net.path("cancel what waits").holds()}
    assert kinds.keys() == {"request", "place", "rows"}
    assert all(verdict.held for verdict in kinds.values())
    pause = [net.run("pause the queue", "claim", hold) for hold in net.holds("pause the queue", "claim")]
    assert {verdict.blocked for verdict in pause} == {True, False}


def test_a_deadlock_is_counted_although_what_it_undid_is_done_again(net: Net) -> None:
    net._deadlocks()
    with net.server.connect(autocommit=False) as one, net.server.connect(autocommit=False) as two:
        pids = [connection.info.backend_pid for connection in (one, two)]
        for connection, number in ((one, 1), (two, 2)):
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [number])
        other = Doing(lambda: one.execute("SELECT pg_advisory_xact_lock(2)"))
        waits = "SELECT %s = ANY (pg_blocking_pids(%s))"
        wait_until(lambda: net.connection.execute(waits, [pids[1], pids[0]]).fetchone() == (True,), "one waits")
        ours = Doing(lambda: two.execute("SELECT pg_advisory_xact_lock(1)"))
        wait_until(lambda: other.ended.is_set() or ours.ended.is_set(), "one of the two is undone")
        for doing, connection in ((other, one), (ours, two)):
            if doing.error is not None:
                assert isinstance(doing.error, DeadlockDetected)
                connection.rollback()
        wait_until(lambda: other.ended.is_set() and ours.ended.is_set(), "the other goes on")
    assert (net._deadlocks(), net._deadlocks()) == (1, 0)


def test_it_is_held_where_it_matters_to_the_other() -> None:
    request, other, commit = (Hold("request", number, "SELECT") for number in (1, 2, 3))
    job, gate = (Hold("place", 1, f"look at {table}") for table in ("job", "gate"))
    writes = Path((request, Hold("place", 1, "before update job")))
    assert writes.written == writes.touched == {"job"}
    path = Path((request, job, gate, job, job, other, gate, commit))
    assert path.holds(writes) == [request, job, other, commit]
    assert path.holds(Path((request, Hold("place", 1, "before update lane")))) == [commit]
