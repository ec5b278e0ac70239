"""In which order rows come."""

from __future__ import annotations

import pytest

from penstock.observe.top.order import ordered, sorts_of
from penstock.observe.top.rows import By, rows_by
from tests.unit.observe.samples import worker
from tests.unit.observe.top.looks import done, gauge, look, sample, tenant

SEEN = look(
    done("busy", completed=500, run=0.1, wait=0.1), done("bad", completed=1, failed=9, run=5.0, wait=1.0),
    done("slow", completed=2, run=60.0, wait=30.0),
    sampled=sample(
        gauge("busy", pending=1, oldest=1, running=4), gauge("bad", pending=70, oldest=5),
        gauge("slow", pending=3, oldest=900, running=2), gauge("idle"),
    ),
    workers=[worker(id="a", jobs=1, silent=9.0), worker(id="b", jobs=5, silent=2.0)],
    tenants=[tenant("acme", 9, 0, 10.0), tenant("bee", 1, 5, 90.0)],
)  # fmt: skip
FIRST = {
    "type": {"waiting": "bad", "rate": "busy", "failed": "bad", "oldest": "slow", "wait": "slow", "run": "slow",
             "slots": "busy", "name": "bad"},
    "tenant": {"slots": "bee", "rate": "acme", "failed": "bee", "name": "acme"},
    "worker": {"jobs": "b", "silent": "a", "name": "a"},
}  # fmt: skip


@pytest.mark.parametrize("by", FIRST)
def test_the_most_comes_first(by: By) -> None:
    assert tuple(FIRST[by]) == sorts_of(by)
    for sort, first in FIRST[by].items():
        assert ordered(rows_by(SEEN, by), by, sort)[0].name == first, sort


def test_what_is_the_same_comes_by_rate_then_by_name() -> None:
    seen = look(done("b", completed=5), done("c"), done("a"), sampled=sample())
    assert [row.name for row in ordered(rows_by(seen, "type"), "type", "waiting")] == ["b", "a", "c"]
    assert [row.name for row in ordered(rows_by(seen, "type"), "type", "name")] == ["a", "b", "c"]


def test_what_is_not_known_is_last() -> None:
    seen = look(sampled=sample(gauge("a"), gauge("z", pending=1, oldest=0.0)))
    assert [row.name for row in ordered(rows_by(seen, "type"), "type", "oldest")] == ["z", "a"]


def test_queues_are_ordered_as_types_are() -> None:
    assert sorts_of("queue") == sorts_of("type")
