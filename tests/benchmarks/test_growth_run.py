"""Growth curves measured for real, with so few jobs that the figures mean nothing."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from benchmarks.growth_curves import ground, measures, session
from benchmarks.growth_curves.beds import StoreBed, enqueue, postgres_bed, sqlite_bed
from benchmarks.growth_curves.catalogue import ENGINES, Engine, chosen_curves
from benchmarks.growth_curves.hands import claim_figures
from benchmarks.growth_curves.jobs import of_tenants, of_types, plain
from benchmarks.growth_curves.measures import MEASURES, Plan
from benchmarks.growth_curves.processes import drained_per_s
from benchmarks.growth_curves.sizes import SIZES
from benchmarks.marks import Marks, together
from benchmarks.peer_bench.servers import NoPlace
from penstock.bench.jobs import PAYLOAD
from penstock.domain.job import State
from tests.postgres.server import shared

TINY = Plan(SIZES["tiny"], rounds=1)


@pytest.fixture(autouse=True)
def any_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run where the temporary folder is in memory."""
    for module in ("benchmarks.peer_bench.servers", "penstock.bench.fresh_store"):
        monkeypatch.setattr(f"{module}.IN_MEMORY", frozenset[str]())
    monkeypatch.setattr(ground, "usual_places", lambda: [Path(tempfile.gettempdir())])


@contextlib.contextmanager
def new_bed(engine: Engine, folder: Path) -> Iterator[StoreBed]:
    with sqlite_bed(folder) if engine == "sqlite" else postgres_bed(shared(18).url()) as bed:
        yield bed


@pytest.fixture(params=ENGINES)
def bed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreBed]:
    with new_bed(request.param, tmp_path) as made:
        yield made


def test_a_run_measures_writes_its_files_and_leaves_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Path] = []

    def bed_in(folder: Path) -> contextlib.AbstractContextManager[StoreBed]:
        seen.append(folder)
        return sqlite_bed(folder)

    monkeypatch.setattr(ground, "sqlite_bed", bed_in)
    out, plots = tmp_path / "out", tmp_path / "plots"
    assert session.run(chosen_curves("waiting,snapshot"), ["sqlite"], TINY, out, plots, None) == 0
    [document] = [json.loads(path.read_text()) for path in out.glob("growth-*.json")]
    points = document["curves"]["waiting"]["sqlite"]
    assert [point["x"] for point in points] == list(TINY.size.waiting)
    assert all(figure["median"] > 0 for point in points for figure in point["figures"].values())
    assert [point["x"] for point in document["curves"]["snapshot"]["sqlite"]] == [0, 100, 200]
    assert session.TRIAL in next(out.glob("growth-*.md")).read_text()
    assert sorted(path.name for path in plots.iterdir()) == ["growth-snapshot.svg", "growth-waiting.svg"]
    assert seen
    assert not any(folder.exists() for folder in seen)
    assert "waiting on SQLite, round 1, 200 jobs that wait" in capsys.readouterr().err


def test_what_was_found_before_an_interrupt_is_written_and_the_data_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []

    class Interrupted:
        def run(self, place: ground.Ground, engine: Engine, plan: Plan, note: measures.Note) -> None:
            seen.append(place.files)
            note(1, 1, {"drain_per_s": 5.0})
            raise KeyboardInterrupt

    monkeypatch.setitem(MEASURES, "types", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        session.run(chosen_curves("types"), ["sqlite"], TINY, tmp_path, None, None)
    assert session.BROKEN_OFF in next(tmp_path.glob("growth-*.md")).read_text()
    assert [folder.exists() for folder in seen] == [False]


def test_a_disk_that_is_too_small_is_refused_before_anything_is_made() -> None:
    with pytest.raises(NoPlace, match=r"GiB free and 1e\+09 are needed: .* DATA=, or measure less with SIZE=small"):
        ground.prepared(["sqlite"], None, 1e9).__enter__()


def test_a_folder_that_others_may_not_write_to_is_left_as_it_was() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)
        with ground.prepared(["sqlite"], folder, 0) as made:
            assert folder.resolve() in made.files.parents
        assert list(folder.iterdir()) == []


def test_a_filled_store_has_so_many_jobs_waiting_and_a_worker_drains_them(
    bed: StoreBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("growth_curves.beds", "postgres_cells.bed"):  # In several pages.
        monkeypatch.setattr(f"benchmarks.{module}.FILL_ROWS", 60)
    enqueue(bed, plain(bed.bench, 1))
    bed.fill_waiting(149)
    assert bed.left() == 150
    drained_per_s(bed.address, 40, leave_rest=True)
    assert bed.left() == 110
    drained_per_s(bed.address, 110, processes=2)
    assert bed.left() == 0


def test_claims_leave_as_many_waiting_as_before(bed: StoreBed) -> None:
    enqueue(bed, plain(bed.bench, 50))
    assert set(claim_figures(bed.bench, 3)) == {"first_claim_ms", "claim_p50_ms", "claim_p99_ms"}
    assert bed.left() == 50


def test_finished_jobs_are_in_the_store_and_none_of_them_is_run(bed: StoreBed) -> None:
    enqueue(bed, plain(bed.bench, 5))
    bed.fill_finished(200, age_days=3)
    drained_per_s(bed.address, 5)
    [counted] = bed.bench.app.store.count_jobs().wait()
    assert (counted.state, counted.jobs) == (State.COMPLETED, 205)


def test_jobs_are_spread_over_tenants_and_types(bed: StoreBed) -> None:
    enqueue(bed, of_tenants(bed.bench, 3, 7))
    drained_per_s(bed.address, 7)
    enqueue(bed, of_types(bed.bench, 4, 10))
    drained_per_s(bed.address, 10, types=4)
    assert bed.left() == 0


def test_a_snapshot_of_postgres_is_held_until_the_end_of_the_block() -> None:
    holders = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND backend_xmin IS NOT NULL"
    with postgres_bed(shared(18).url()) as bed:
        [(before,)] = shared(18).execute(holders)
        with bed.held():
            assert shared(18).execute(holders) == [(before + 1,)]
        assert shared(18).execute(holders) == [(before,)]


def test_a_reader_of_sqlite_keeps_the_log_until_the_end_of_the_block(tmp_path: Path) -> None:
    with sqlite_bed(tmp_path) as bed, contextlib.closing(apsw.Connection(bed.address.removeprefix("sqlite:///"))) as db:
        with bed.held():
            enqueue(bed, plain(bed.bench, 5))
            [(busy, _, _)] = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            assert busy
        [(busy, _, _)] = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert not busy


def test_the_size_of_a_store_grows_with_its_jobs(bed: StoreBed) -> None:
    before = bed.disk_mib()
    enqueue(bed, plain(bed.bench, 500))
    assert bed.disk_mib() > before + 500 * len(PAYLOAD) / 2**20


def test_jobs_that_were_not_run_make_the_figures_worthless(bed: StoreBed) -> None:
    enqueue(bed, plain(bed.bench, 5))
    with pytest.raises(SystemExit, match="5 of 6 jobs were run"):
        drained_per_s(bed.address, 6)


def test_the_rate_of_several_processes_is_from_the_first_start_to_the_last() -> None:
    second = 1_000_000_000
    marks = together([Marks(3, 5 * second, 7 * second), Marks(0, 0, 0), Marks(8, 6 * second, 10 * second)])
    assert marks == Marks(11, 5 * second, 10 * second)
    assert marks.per_second == 2.0
    assert together([Marks(0, 0, 0)]).count == 0
