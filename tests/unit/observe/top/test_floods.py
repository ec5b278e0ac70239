"""Who floods a queue, and whom that delays."""

from __future__ import annotations

import pytest

from penstock.observe.top.floods import floods
from penstock.observe.top.look import Look
from penstock.store.contract import Gauge, WorkerInfo
from tests.unit.observe.samples import worker
from tests.unit.observe.top.looks import done, gauge, look, sample

IMPORT = gauge("import", pending=12_400, oldest=300)


def texts(seen: Look) -> list[str]:
    return [flood.text for flood in floods(seen)]


def flooded(*gauges: Gauge) -> list[str]:
    return texts(look(sampled=sample(*gauges)))


def test_who_has_most_of_what_waits_and_who_waits_longest_meanwhile() -> None:
    assert flooded(
        IMPORT, gauge("send", pending=50, oldest=240), gauge("list", pending=500, oldest=30), gauge("idle"),
        gauge("far", "elsewhere", pending=3, oldest=900),
    ) == [
        "flood: 'import' has 12,400 of 12,950 waiting jobs in queue 'default'; "
        "'send' waits 4m, 'list' waits 30s there"
    ]  # fmt: skip


def test_two_are_named_and_the_others_counted() -> None:
    (told,) = flooded(IMPORT, *(gauge(f"t{number}", pending=1, oldest=10 + number) for number in range(5)))
    assert told.endswith("; 't4' waits 14s, 't3' waits 13s, 3 other types too there")


@pytest.mark.parametrize(
    "gauges",
    [
        [gauge("import", pending=99, oldest=900), gauge("send", pending=1, oldest=900)],
        [gauge(name, pending=400, oldest=900) for name in ("a", "b", "c")],
        [gauge("import", pending=12_400, ready=0, oldest=900), gauge("send", pending=50, oldest=900)],
        [gauge("import", scheduled=12_400), gauge("send", pending=50, oldest=900)],
    ],
    ids=["few", "nobody has most", "paused or before a limit", "later"],
)
def test_no_flood(gauges: list[Gauge]) -> None:
    assert flooded(*gauges) == []


def test_nobody_is_delayed() -> None:
    told = "flood: 'import' has 12,400 of {} waiting jobs in queue 'default'; nothing else waits for long there"
    assert flooded(IMPORT) == [told.format("12,400")]
    assert flooded(IMPORT, gauge("send", pending=2, oldest=1.0)) == [told.format("12,402")]
    assert flooded(IMPORT, gauge("paused", pending=2, ready=0, oldest=900)) == [told.format("12,400")]


def apart(*workers: WorkerInfo) -> list[str]:
    seen = look(sampled=sample(IMPORT, gauge("send", pending=2, oldest=90)), workers=workers)
    return [one.type for flood in floods(seen) for one in flood.delayed]


def test_only_those_that_the_same_workers_take_are_delayed() -> None:
    assert apart(worker(types=("import", "send"))) == ["send"]
    assert apart(worker(types=("import",)), worker(types=("send",))) == []
    assert apart(worker(types=("import",))) == []
    assert apart() == []


def test_each_queue_by_itself_the_largest_first() -> None:
    found = flooded(gauge("a", "small", pending=200), IMPORT)
    assert [told.split(" queue ")[1].split(";")[0] for told in found] == ["'default'", "'small'"]


def test_who_comes_fastest_when_nobody_has_most() -> None:
    earlier = sample(gauge("old", pending=400), gauge("older", pending=400), gauge("import", pending=100), age=10)
    later = sample(
        gauge("old", pending=400, oldest=900), gauge("older", pending=400, oldest=800),
        gauge("import", pending=350, oldest=10),
    )  # fmt: skip
    assert texts(look(done("import", completed=100), sampled=later, before=earlier)) == [
        "flood: 'import' has 350 of 1,150 waiting jobs in queue 'default'; "
        "'old' waits 15m, 'older' waits 13m20s there; 26/s come, 1/s end"
    ]
    assert texts(look(sampled=later, before=sample(*later.gauges, age=10))) == []


def test_names_are_quoted() -> None:
    (told,) = flooded(gauge("a\x1b[2Jb", pending=1_000))
    assert "\x1b" not in told
