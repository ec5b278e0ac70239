"""Two processes on one file, the first held or killed at each of its boundaries: a part of all pairs, another one with
each commit, and all pairs in the long tests.

`python -m tests.nets writes --all` holds all of them before and after each transaction and at one statement inside of
it, by the seed; `--seed N` those of a commit, and `--first NAME` those of an operation, everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.nets.draw import draw, seed
from tests.nets.file_ablations import Safeguard, noticed, of_net
from tests.nets.file_scene import FIRST, SECOND
from tests.nets.many import run_pair, some
from tests.nets.operations import OPERATIONS
from tests.nets.writes import IN_KERNEL, Hold, WriteNet, at_writes

DRAWN = 8
HOLDS_MAX, HOLDS_OF_ALL = 4, 2
SEED = seed()


@pytest.fixture(scope="module")
def net() -> Iterator[WriteNet]:
    with closing(WriteNet()) as net:
        yield net


def check(net: WriteNet, pair: tuple[str, str], chance: random.Random, most: int) -> None:
    told = run_pair(net, *pair, some(most, chance))
    assert told.holds
    assert not told.missed
    assert not told.found, "\n".join([f"seed {SEED}", *(f"{one}: {one.problems}" for one in told.found)])


@pytest.mark.parametrize("place", range(DRAWN))
def test_two_processes_leave_what_one_after_the_other_leaves(net: WriteNet, place: int) -> None:
    check(net, draw(SEED, DRAWN)[place], random.Random(SEED), HOLDS_MAX)


@pytest.mark.long
@pytest.mark.parametrize("first", OPERATIONS)
def test_every_operation_beside_every_other(net: WriteNet, first: str) -> None:
    for second in OPERATIONS:
        check(net, (first, second), random.Random(f"{SEED} {first} {second}"), HOLDS_OF_ALL)


@pytest.mark.turns
@pytest.mark.parametrize("safeguard", of_net("writes").values(), ids=lambda one: one.name)
def test_without_a_safeguard_a_pair_finds_it(net: WriteNet, safeguard: Safeguard) -> None:
    caught = noticed(net, safeguard)
    assert caught, f"{safeguard.name}: nobody notices that it is gone"
    first, second = safeguard.caught_by
    whole = [net.run(first, second, hold) for hold in net.holds(first, second) if safeguard.where in hold.what]
    assert not [verdict.problems for verdict in whole if verdict.problems]


# The net itself


def test_it_is_held_at_each_statement_and_around_each_end(net: WriteNet) -> None:
    path = net.path("enqueue")
    assert path[-3:] == ["before COMMIT", "after COMMIT", "at its end"]
    begins = path.index("before BEGIN IMMEDIATE")
    assert any("penstock_job" in what for what in path[begins:-3])


def test_nobody_sees_at_which_statement_of_a_transaction_it_is_held_so_one_is_drawn() -> None:
    path = [
        "before SELECT",
        "before BEGIN IMMEDIATE",
        "before INSERT",
        "before UPDATE",
        "before COMMIT",
        "after COMMIT",
    ]
    path += ["before BEGIN IMMEDIATE", "before ROLLBACK", "after ROLLBACK", "at its end"]
    holds = [Hold(number, what, killed) for number, what in enumerate(path) for killed in (False, True)]
    drawn = [at_writes(random.Random(seed), holds) for seed in range(20)]
    left_out = {tuple(sorted({*range(len(path))} - {hold.number for hold in chosen})) for chosen in drawn}
    assert left_out == {(2,), (3,)}
    assert all([hold for hold in holds if hold in chosen] == chosen for chosen in drawn)


def test_the_second_meets_the_first_where_it_is_held(net: WriteNet) -> None:
    verdicts = {str(hold): net.run("enqueue", "claim", hold) for hold in net.holds("enqueue", "claim")}
    assert all(verdict.held for verdict in verdicts.values())
    assert verdicts["held before COMMIT"].waited == verdicts["killed before COMMIT"].waited == IN_KERNEL
    assert not verdicts["held at its end"].waited


def test_what_one_after_the_other_leaves_depends_on_the_order(net: WriteNet) -> None:
    one, two = (FIRST, "enqueue"), (SECOND, "claim")
    assert len({net.scene.past(*done).mark for done in ([], [one], [two], [one, two], [two, one])}) == 5
