"""Which commands a part consists of, and that a failure costs only what comes after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from benchmarks.marks import Marks
from benchmarks.peer_bench import measure, session
from benchmarks.peer_bench.calibration import Calibration
from benchmarks.peer_bench.catalogue import Part
from benchmarks.peer_bench.contestant import Contestant
from benchmarks.peer_bench.measure import Figures, Measure, Sizes
from benchmarks.peer_bench.results import Results
from benchmarks.peer_bench.servers import Servers
from benchmarks.peer_bench.stage import Failed, Stage
from penstock.cli.output.tables import console
from tests.benchmarks.samples import OURS, peer


class Recorded:
    """Stands for the servers and the stage, and keeps what was asked of them. `fails` is the command that fails."""

    marks = "marks"
    folder = "folder"

    def __init__(self, fails: str = "") -> None:
        self.done: list[str] = []
        self.addresses: dict[str, str] = {}
        self._fails = fails

    def empty(self) -> None:
        self.done.append("empty")

    def settle(self) -> None:
        self.done.append("settle")

    def call(self, who: Contestant, deadline: Any, *words: object, plain: bool = False) -> float:
        said = " ".join(map(str, words)) + (" plain" if plain else "")
        self.done.append(said)
        if words[0] == self._fails:
            raise Failed(said)
        return 2.0

    @contextmanager
    def workers(self, who: Contestant, count: int, deadline: Any) -> Iterator[list[Any]]:
        self.done.append(f"{count} workers")
        yield []

    def await_marks(self, who: Contestant, workers: Any, count: int, deadline: Any) -> Marks:
        self.done.append(f"await {count}")
        return Marks(count, 0, 1_000_000_000)

    def await_pickups(self, who: Contestant, workers: Any, count: int, deadline: Any) -> list[float]:
        return [1.0] * count


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "IDLE_SECONDS", 0)


def measured(recorded: Recorded, parts: tuple[Part, ...], who: Contestant) -> Figures:
    found: Figures = {}
    one = Measure(cast(Servers, recorded), cast(Stage, recorded), Sizes(1000), lambda what: None)
    one.run(who, parts, found)
    return found


def test_enqueueing_goes_on_in_one_store_and_a_drain_begins_with_an_empty_one() -> None:
    recorded = Recorded()
    who = peer(parts=("single", "single_plain", "bulk", "drain"))
    found = measured(recorded, who.parts, who)
    assert recorded.done == [
        "empty", "prepare", "one 1000 20", "one 1000 20 plain", "many 1000 20",
        "empty", "prepare", "many 1000", "settle", "1 workers", "await 1000",
    ]  # fmt: skip
    assert found == {"single_per_s": 500, "single_plain_per_s": 500, "bulk_per_s": 500, "drain_per_s": 999}


def test_two_processes_drain_twice_as_many_and_a_peer_without_bulk_is_loaded_one_by_one() -> None:
    recorded = Recorded()
    measured(recorded, ("drain2",), peer())
    assert recorded.done == ["empty", "prepare", "one 2000", "settle", "2 workers", "await 2000"]


def test_a_pickup_begins_when_the_worker_has_shown_that_it_works() -> None:
    recorded = Recorded()
    assert measured(recorded, ("pickup",), peer()) == {"pickup_p50_ms": 1.0, "pickup_p99_ms": 1.0}
    assert recorded.done == ["empty", "prepare", "1 workers", "one 1", "await 1", "produce 60"]


def test_slow_peers_drain_fewer_but_never_too_few() -> None:
    slow = Contestant("rq", "rq", "redis", (), "", peer().facts, (), share=0.03)
    assert Sizes(50_000).drained(slow) == 1500
    assert Sizes(50_000).drained(peer(), 2) == 100_000
    assert Sizes(300).drained(slow) == 100


def test_few_jobs_are_called_a_trial() -> None:
    assert Sizes(300).is_small
    assert not Sizes(50_000).is_small
    assert (Sizes(50_000).singles, Sizes(50_000).bulk, Sizes(50_000).probes) == (2000, 10_000, 220)
    assert (Sizes(300).singles, Sizes(300).bulk) == (300, 300)


def test_a_peer_that_fails_keeps_its_figures_so_far_and_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "calibrate", lambda servers, jobs: Calibration(1, 1))
    recorded = Recorded(fails="produce")
    monkeypatch.setattr(session, "Stage", lambda folder, addresses: recorded)
    results = Results([*OURS, peer("a"), peer("b")])
    session.Session(results, cast(Servers, recorded), Sizes(1000), console(stderr=True)).measure(2)
    assert results.failed["a"] == results.failed["b"] == "produce 60"
    tried = [(run.name, run.round, sorted(run.figures)) for run in results.runs if run.name in ("a", "b")]
    assert tried == [("a", 1, ["drain_per_s", "single_per_s"]), ("b", 1, ["drain_per_s", "single_per_s"])]
    assert {run.round for run in results.runs if run.name == "penstock-postgres"} == {1, 2}
    assert len(results.calibrations) == 3 + 2
