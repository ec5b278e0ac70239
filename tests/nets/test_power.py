"""Power is cut at each write of an operation: a part of them, another one with each commit, and all in the long tests.

`python -m tests.nets power --all` cuts them all; `--seed N` as at a commit.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.nets.cutting import Disk, Event
from tests.nets.draw import draw_operations, seed
from tests.nets.file_ablations import Safeguard, noticed_by_cuts, of_net
from tests.nets.many import run_cuts
from tests.nets.operations import OPERATIONS
from tests.nets.power import ALL, ANSWERED, NOT_SYNCED, PowerNet

DRAWN = 3
CUTS_MAX = 30
SEED = seed()


@pytest.fixture(scope="module")
def net() -> Iterator[PowerNet]:
    with closing(PowerNet()) as net:
        yield net


def check(net: PowerNet, name: str, most: int | None) -> None:
    told = run_cuts(net, name, SEED, most)
    assert told.holds
    assert not told.found, "\n".join([f"seed {SEED}", *(f"{one}: {one.problems}" for one in told.found)])


@pytest.mark.parametrize("place", range(DRAWN))
def test_what_was_answered_is_there_after_a_cut_and_nothing_is_there_half(net: PowerNet, place: int) -> None:
    check(net, draw_operations(SEED, DRAWN)[place], CUTS_MAX)


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_every_cut_of_every_operation(net: PowerNet, name: str) -> None:
    check(net, name, None)


@pytest.mark.turns
@pytest.mark.parametrize("safeguard", of_net("power").values(), ids=lambda one: one.name)
def test_without_a_safeguard_a_cut_finds_it(net: PowerNet, safeguard: Safeguard) -> None:
    assert noticed_by_cuts(net, safeguard), f"{safeguard.name}: nobody notices that it is gone"


# The net itself


def test_what_may_be_undone_is_named(net: PowerNet) -> None:
    assert OPERATIONS.keys() >= NOT_SYNCED


def test_between_the_answers_of_two_there_are_writes_and_a_sync(net: PowerNet) -> None:
    events = net.record("enqueue").events
    told = [events.index(Event("said", f"{ANSWERED} {name}")) for name in ("heartbeat", "enqueue")]
    between = [(event.kind, event.file) for event in events[slice(*told)]]
    assert between[-1] == ("sync", "jobs.db-wal")
    assert ("write", "jobs.db-wal") in between


def test_of_what_was_not_synced_anything_may_be_there() -> None:
    disk = Disk({"a": b"1111"})
    for event in (Event("write", "a", 0, b"22"), Event("sync", "a"), Event("write", "a", 2, b"33"),
                  Event("write", "a", 4, b"44"), Event("truncate", "a", 5)):  # fmt: skip
        disk.do(event)
    chance = random.Random(1)
    assert disk.cut("nothing", chance) == {"a": b"2211"}
    assert disk.cut("all", chance) == {"a": b"22334"}
    some = {disk.cut("some", chance)["a"] for _ in range(200)}
    assert {b"2211", b"2231", b"22114", b"2211\0"} <= some
    disk.do(Event("delete", "a"))
    assert disk.cut("all", chance) == {}
    assert disk.cut("nothing", chance) == {"a": b"2211"}
    disk.do(Event("write", "a-wal", 0, b"5"))
    disk.do(Event("sync", "a-wal"))
    assert disk.cut("nothing", chance) == {"a-wal": b"5"}
