"""The order of a round: whatever is compared is measured side by side."""

from __future__ import annotations

import pytest

from benchmarks.peer_bench.catalogue import Engine
from benchmarks.peer_bench.contestant import Contestant
from benchmarks.peer_bench.plan import Group, Step, one_round
from tests.benchmarks.samples import OURS, peer


def groups_of(*peers: Contestant) -> list[Group]:
    return one_round(2, OURS, peers)


def names(group: Group) -> list[str]:
    return [step.who.name for step in group.steps]


@pytest.mark.parametrize(
    ("engine", "ours"),
    [("postgres", "penstock-postgres"), ("redis", "penstock-postgres"), ("sqlite", "penstock-sqlite")],
)
def test_penstock_comes_right_before_each_peer_with_and_without_history(engine: Engine, ours: str) -> None:
    group = groups_of(peer("a", engine))[-1]
    assert names(group) == [ours, f"{ours}-no-history", "a"]
    assert [(step.round, step.beside) for step in group.steps] == [(2, "a"), (2, "a"), (2, None)]


def test_all_of_penstock_is_measured_once_on_each_engine_and_then_only_what_the_peer_has() -> None:
    first, second = groups_of(peer("a"), peer("b"))[1:]
    assert first.steps[0].parts == ("single", "single_plain", "bulk", "drain", "drain2", "pickup")
    assert first.steps[1].parts == ("drain", "drain2")
    assert second.steps[0].parts == ("single", "drain", "pickup")
    assert second.steps[1].parts == ("drain",)


def test_an_engine_without_a_peer_is_measured_alone() -> None:
    alone, beside = groups_of(peer("a", "sqlite"))
    assert names(alone) == ["penstock-postgres", "penstock-postgres-no-history"]
    assert [step.beside for step in alone.steps] == [None, None]
    assert names(beside)[-1] == "a"


def test_plain_code_is_compared_with_plain_code() -> None:
    step: Step = groups_of(peer("a"), peer("b", plain=True))[-1].steps[0]
    assert step.parts == ("single_plain", "drain", "pickup")
