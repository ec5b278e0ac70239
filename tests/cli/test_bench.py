"""`penstock bench`, made short: what it reports, what it refuses, and that it leaves nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock import App, State
from penstock.bench import fresh_store, parts, raw
from penstock.bench.jobs import WARM
from penstock.bench.raw import RawSqlite
from penstock.bench.workers import children, drain_seconds
from penstock.domain.errors import PenstockError
from penstock.program import loop
from penstock.program.loop import deaf_to_interrupts, event_loop
from tests.cli.conftest import DEADLINE_SECONDS, Call, read_terminal

pytestmark = pytest.mark.turns

RATES = (
    "enqueue_single_per_s",
    "enqueue_single_async_per_s",
    "enqueue_bulk_per_s",
    "drain_per_s",
    "drain_threads_per_s",
    "drain_processes_per_s",
    "pickup_ms_p50",
    "pickup_ms_p99",
)


SHORT = {"PROBES": 3, "PROBE_GAP_SECONDS": 0.0, "BULK": 300}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A few jobs, in a folder that counts as a real disk wherever the tests run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PENSTOCK_STORE", raising=False)
    for name, value in SHORT.items():
        monkeypatch.setattr(parts, name, value)
    monkeypatch.setattr(raw, "PROBE_GAP_SECONDS", 0.0)
    monkeypatch.setattr(fresh_store, "file_system", lambda folder: "ext4")
    return tmp_path


def test_it_reports_every_figure_beside_the_bare_driver_and_the_settings(call: Call, short: Path) -> None:
    outcome = call("bench", "--jobs", "200", "--rounds", "2", "--raw", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    figures = outcome.json
    for name in RATES:
        assert figures[name] > 0
        assert figures["raw"][name] > 0
        assert [found[name] > 0 and found["raw"][name] > 0 for found in figures["rounds"]] == [True, True]
    assert figures["enqueue_concurrent_per_s"] > 0
    assert figures["notes"] == []
    assert list(short.iterdir()) == []
    settings = figures["settings"]
    assert settings["engine"] == "sqlite"
    assert "synchronous=FULL" in settings["durability"]
    assert settings["disk_flush_ms"] > 0
    assert (settings["jobs"], settings["rounds"], settings["processes"], settings["history"]) == (200, 2, 1, "default")
    stated = {"penstock", "python", "event_loop", "library", "cores", "memory_gib", "file_system", "slots", "warm_up"}
    assert stated <= settings.keys()


def test_a_table_for_people_with_two_processes_and_no_history(call: Call, short: Path) -> None:
    options = ("--jobs", "100", "--rounds", "1", "--processes", "2", "--history", "none", "--out", "figures.json")
    outcome = call("bench", *options, "--store", "sqlite:///mine.db")
    assert (outcome.code, outcome.err) == (0, "")
    for words in ("drain, async handlers", "history: none", "processes: 2", "disk flush ms: ", "warm up: "):
        assert words in outcome.out
    assert [path.name for path in short.iterdir()] == ["figures.json"]
    written = json.loads((short / "figures.json").read_text())
    assert f"{written['drain_per_s']:,} jobs/s" in outcome.out
    assert call("bench", "--compare", "figures.json", "figures.json", "--json").json["settings_that_differ"] == {}


def test_less_than_full_sync_is_not_comparable(short: Path) -> None:
    with fresh_store.bench_store("sqlite:///mine.db?synchronous=normal") as made:
        [note] = made.notes({})
        assert note.startswith("less safe, so not comparable with full sync")


# Warm-up


@pytest.fixture
def bench(short: Path) -> Iterator[parts.Bench]:
    with fresh_store.bench_store("sqlite:///mine.db") as made:
        bench = parts.Bench(made, 40, 1, "default")
        bench.begin_round()
        yield bench
        bench.close()


def states() -> Counter[State]:
    """How many jobs are stored, by state."""
    app = App("sqlite:///mine.db")
    found: Counter[State] = Counter()
    for count in app.store.count_jobs().wait():
        found[count.state] += count.jobs
    app.close()
    return found


@pytest.mark.parametrize(
    ("part", "tried"), [("enqueue one by one", WARM), ("enqueue, 20 callers", 20 * WARM), ("enqueue 300 in bulk", WARM)]
)
def test_enqueueing_is_tried_before_the_clock_starts(
    bench: parts.Bench, monkeypatch: pytest.MonkeyPatch, part: str, tried: int
) -> None:
    there: list[int] = []

    def perf_counter() -> float:
        there.append(states().total())
        return float(len(there))

    monkeypatch.setattr(parts, "time", SimpleNamespace(perf_counter=perf_counter))
    dict(bench.parts())[part]()
    assert there[0] == tried
    assert there[1] > tried


def test_a_process_that_drains_has_run_jobs_before_it_is_ready(bench: parts.Bench) -> None:
    with children("sqlite:///mine.db", "default", 1, "drain") as started:
        assert states() == {State.COMPLETED: 2 * WARM}
        app = App("sqlite:///mine.db")
        app.enqueue("penstock.bench.noop", {"to": "a", "subject": "b", "body": "c"})
        app.close()
        assert drain_seconds(started) > 0
        assert states() == {State.COMPLETED: 2 * WARM + 1}


def test_the_bare_driver_has_the_durability_of_the_store(short: Path) -> None:
    for synchronous, number in (("full", 2), ("normal", 1)):
        bare = RawSqlite(str(short / "mine.db"), "full" if synchronous == "full" else "normal")
        assert bare._db.execute("PRAGMA synchronous").get == number
        assert bare.cycle(50, 20) > 0
        bare.close()
    assert list(short.iterdir()) == []


def test_a_worker_process_that_dies_is_an_error_and_no_figure(bench: parts.Bench) -> None:
    assert bench.info.engine == "sqlite"
    with children("sqlite:///mine.db", "default", 1, "burst") as started:
        started[0].kill()
        started[0].wait()
        with pytest.raises(PenstockError, match="ended with code -9 before it was done"):
            drain_seconds(started)


# Progress

RUN_SHORT = f"""
from penstock.bench import fresh_store, parts
from penstock.cli.main import main
fresh_store.file_system = lambda folder: "ext4"
vars(parts).update({SHORT!r})
main()
"""


def on_terminal(folder: Path, *words: str) -> tuple[subprocess.Popen[bytes], int]:
    """`penstock bench`, made short, in a process group of its own, with a terminal of 100 columns."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", RUN_SHORT, "bench", *words],
        cwd=folder, env=os.environ | {"COLUMNS": "100", "TERM": "xterm"}, stdin=slave, stdout=slave, stderr=slave,
        start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    return process, master


def test_a_terminal_sees_the_part_the_round_and_the_time_left(tmp_path: Path) -> None:
    process, master = on_terminal(tmp_path, "--jobs", "1", "--rounds", "2")
    shown = read_terminal(master)
    assert process.wait(DEADLINE_SECONDS) == 0
    for words in ("enqueue one by one", "round 1 of 2", "drain, processes", "round 2 of 2", "0:00:0", "about 0:0"):
        assert words in shown
    assert "drain, async handlers" in shown


def test_json_on_a_terminal_is_json_alone(tmp_path: Path) -> None:
    process, master = on_terminal(tmp_path, "--jobs", "1", "--rounds", "1", "--json")
    shown = read_terminal(master)
    assert process.wait(DEADLINE_SECONDS) == 0
    assert json.loads(shown)["settings"]["rounds"] == 1


@pytest.mark.parametrize("part", ["enqueue, 20 callers", "raw: process pool", "pickup"])
def test_an_interrupt_ends_all_processes_without_a_word_and_leaves_nothing(tmp_path: Path, part: str) -> None:
    process, master = on_terminal(tmp_path, "--jobs", "1", "--raw", "--rounds", "9")
    shown = read_terminal(master, until=part, then=lambda: os.killpg(process.pid, signal.SIGINT))
    assert process.wait(DEADLINE_SECONDS) == 130
    assert "Traceback" not in shown
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_an_event_loop_is_made_waits_until_it_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[asyncio.AbstractEventLoop] = []

    def interrupted() -> asyncio.AbstractEventLoop:
        signal.raise_signal(signal.SIGINT)
        made.append(asyncio.new_event_loop())
        return made[0]

    monkeypatch.setattr(loop, "new_event_loop", interrupted)
    with pytest.raises(KeyboardInterrupt), event_loop():
        pytest.fail("the interrupt was not heard")
    assert made[0].is_closed()


def test_an_interrupt_that_another_thread_hears_waits_until_all_processes_are_started() -> None:
    started: list[str] = []
    with pytest.raises(KeyboardInterrupt), deaf_to_interrupts():  # noqa: PT012
        other = threading.Thread(target=signal.raise_signal, args=[signal.SIGINT])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # It inherits this mask, older threads have it.
        other.start()
        other.join()
        started.append("the last process")
    assert started == ["the last process"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# Refusals


def test_a_store_that_exists_is_never_measured(call: Call, short: Path) -> None:
    (short / "jobs.db").touch()
    outcome = call("bench", "--store", "sqlite:///jobs.db")
    assert outcome.code == 2
    assert f"{short}/jobs.db exists: a benchmark needs a store of its own" in outcome.err
    assert (short / "jobs.db").exists()


def test_memory_is_not_a_disk(call: Call, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh_store, "file_system", lambda folder: "tmpfs")
    outcome = call("bench")
    assert outcome.code == 2
    assert "is on tmpfs, in memory" in outcome.err
    assert "name a file on a real disk" in outcome.err


def test_memory_is_not_a_disk_behind_a_link_either(call: Call, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (short / "memory").mkdir()
    (short / "disk").symlink_to(short / "memory")
    real = os.path.realpath(short / "memory")
    monkeypatch.setattr(fresh_store, "file_system", lambda folder: "tmpfs" if folder == real else "ext4")
    assert call("bench", "--store", "sqlite:///disk/mine.db").code == 2


@pytest.mark.parametrize("out", ["nowhere/figures.json", "."])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    call: Call, short: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.setattr(fresh_store, "bench_store", lambda store: pytest.fail("it began"))
    outcome = call("bench", "--out", out)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"{out} cannot be written: name a file in a folder that exists" in outcome.err


def test_figures_that_cannot_be_written_after_all_are_still_shown(call: Call, short: Path) -> None:
    outcome = call("bench", "--jobs", "1", "--rounds", "1", "--out", "/dev/full")
    assert outcome.code == 1
    assert "drain, async handlers" in outcome.out
    assert "/dev/full could not be written (No space left on device)" in outcome.err


@pytest.mark.parametrize("words", [["--jobs", "0"], ["--rounds", "0"], ["--processes", "0"], ["--history", "some"]])
def test_wrong_words_are_usage_errors(call: Call, short: Path, words: list[str]) -> None:
    assert call("bench", *words).code == 2
