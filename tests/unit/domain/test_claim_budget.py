"""What fits into what is left, and what is kept for those that were passed over."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from penstock.domain.flow.claim_budget import Cap, ClaimBudget, is_scarce, left_of
from penstock.domain.options import NO_RESOURCES, Resources


class Lane(NamedTuple):
    type: str = "task"
    resources: Resources = NO_RESOURCES


CPU = Lane(resources=Resources(cpu=1))
GPU = Lane(resources=Resources(gpu=1))
BIG = Lane(resources=Resources(cpu=4, memory="1Gi"))


def test_it_shrinks_with_what_is_taken() -> None:
    room = ClaimBudget(Resources(cpu=2))
    for _ in range(2):
        assert room.fits(CPU)
        room.take(CPU)
    assert not room.fits(CPU)
    assert room.fits(Lane()), "what needs nothing always fits"


def test_nothing_free_has_room_for_what_needs_nothing() -> None:
    room = ClaimBudget(None)
    assert (room.fits(Lane()), room.fits(CPU)) == (True, False)


def test_a_cap_is_shared_by_the_names_of_a_type() -> None:
    room = ClaimBudget(None, (Cap(("new", "old"), 1),))
    room.take(Lane("old"))
    assert not room.fits(Lane("new"))
    assert room.fits(Lane("other"))


def test_tenths_add_up_to_a_whole() -> None:
    room, tenth = ClaimBudget(Resources(cpu=1)), Lane(resources=Resources(cpu=0.1))
    for _ in range(10):
        assert room.fits(tenth)
        room.take(tenth)
    assert not room.fits(tenth)


@pytest.mark.parametrize(
    ("lanes", "count"),
    [((), sys.maxsize), ((Lane(),), sys.maxsize), ((CPU,), 4), ((CPU, GPU), 2), ((CPU, BIG), 1), ((Lane("few"),), 3),
     ((CPU, Lane("few")), 3)],
)  # fmt: skip
def test_how_many_fit_whatever_they_are(lanes: tuple[Lane, ...], count: int) -> None:
    room = ClaimBudget(Resources(cpu=4, memory="1Gi", gpu=2), (Cap(("few",), 3),))
    assert room.surely(lanes) == count
    for _ in range(min(count, 10)):
        for lane in lanes[-1:]:
            assert room.fits(lane)
            room.take(lane)


def test_what_a_job_needs_is_set_aside_from_those_after_it() -> None:
    room = ClaimBudget(Resources(cpu=1, memory="3Gi", gpu=1))
    room.hold_for(BIG, (0, 5, "big"))
    assert room.holding
    assert not room.allows(CPU, (0, 6, "after"))
    assert room.allows(CPU, (0, 4, "before"))
    assert room.allows(CPU, (-1, 9, "more urgent"))
    assert room.allows(GPU, (0, 6, "after")), "the big one does not need that"
    assert room.allows(Lane(resources=Resources(memory="2Gi")), (0, 6, "after")), "it leaves so much"
    assert not room.allows(Lane(resources=Resources(memory="3Gi")), (0, 6, "after"))


def test_it_is_set_aside_for_the_first_of_them() -> None:
    room = ClaimBudget(Resources(cpu=1, memory="1Gi"))
    room.hold_for(BIG, (0, 5, "second"))
    room.hold_for(GPU, (0, 3, "first"))
    room.hold_for(BIG, (0, 7, "third"))
    assert not room.allows(GPU, (0, 6, "after"))
    assert room.allows(CPU, (0, 6, "after")), "the second waits for its turn"


def test_nothing_is_kept_for_a_job_that_fits_or_whose_type_is_at_its_limit() -> None:
    room = ClaimBudget(Resources(cpu=4, memory="1Gi"), (Cap(("few",), 0),))
    room.hold_for(BIG, (0, 5, "big"))
    room.hold_for(Lane("few", Resources(cpu=9)), (0, 5, "few"))
    assert not room.holding


def test_what_has_to_be_counted() -> None:
    caps = (Cap(("few",), 3),)
    assert [is_scarce(lane, caps) for lane in (Lane(), CPU, Lane("few"))] == [False, True, True]


def test_what_is_left_is_never_less_than_nothing() -> None:
    has = Resources(cpu=4, memory="8Gi")
    assert left_of(has, []) == has
    assert left_of(has, [Resources(cpu=3), Resources(cpu=3, memory="1Gi")]) == Resources(memory="7Gi")
    assert left_of(None, [Resources(cpu=3)]) == NO_RESOURCES
