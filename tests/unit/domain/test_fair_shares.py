"""Whose turn it is: by weight, in a fixed round, never more than somebody has, and never a slot too few."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from penstock.domain.errors import ConfigError
from penstock.domain.flow.fair_shares import FairShares, read_weights
from penstock.domain.options import Tenant

ORGS = st.sampled_from("abcdef")
HAVE = st.dictionaries(ORGS, st.integers(1, 30), min_size=1)
WEIGHTS = st.dictionaries(ORGS, st.integers(1, 5))


@dataclass(frozen=True)
class Job:
    queue: str
    tenant: Tenant | None


def served(*orgs: str, queue: str = "q") -> list[Job]:
    return [Job(queue, Tenant(org)) for org in orgs]


@given(have=HAVE, weights=WEIGHTS, slots=st.integers(1, 60))
def test_nobody_gets_more_than_it_has_and_no_slot_stays_empty(
    have: dict[str, int], weights: dict[str, int], slots: int
) -> None:
    dealt = Counter(FairShares().deal("q", slots, have, weights))
    assert dealt.total() == min(slots, sum(have.values()))
    assert all(dealt[org] <= have[org] for org in dealt)


@given(orgs=st.sets(ORGS, min_size=1), weights=WEIGHTS, sizes=st.lists(st.integers(1, 9), min_size=1, max_size=30))
def test_however_small_the_claims_all_get_their_weight(
    orgs: set[str], weights: dict[str, int], sizes: list[int]
) -> None:
    turns, given_ = FairShares(), Counter[str]()
    for slots in sizes:
        dealt = turns.deal("q", slots, dict.fromkeys(orgs, 1000), weights)
        turns.note(served(*dealt))
        given_.update(dealt)
        rounds = [given_[org] / weights.get(org, 1) for org in orgs]
        assert max(rounds) - min(rounds) <= 1


def test_a_newcomer_waits_for_one_round_at_most() -> None:
    turns = FairShares()
    turns.note(served("m"))
    assert turns.deal("q", 3, {"a": 9, "m": 9, "z": 9}, {}) == ["z", "a", "m"]


def test_a_row_that_was_broken_off_goes_on() -> None:
    turns, weights, have = FairShares(), {"b": 3}, {"a": 9, "b": 9}
    turns.note(served("a", "b"))
    assert turns.deal("q", 3, have, weights) == ["b", "b", "a"]


def test_one_who_was_last_and_has_nothing_left_is_passed_over() -> None:
    turns = FairShares()
    turns.note(served("b"))
    assert turns.deal("q", 2, {"a": 1, "c": 1}, {"b": 3}) == ["c", "a"]


def test_queues_have_turns_of_their_own() -> None:
    turns = FairShares()
    turns.note([*served("a", queue="other"), Job("q", None)])
    assert (turns.last("other"), turns.last("q")) == ("a", "")


@pytest.mark.parametrize(
    "value", [5, None, ["acme"], {"": 1}, {3: 1}, {"acme": 0}, {"acme": "3"}, "acme", "acme=", "=3"]
)
def test_what_is_not_a_table_of_weights(value: object) -> None:
    with pytest.raises(ConfigError, match="tenant_weights"):
        read_weights(value, "tenant_weights")
