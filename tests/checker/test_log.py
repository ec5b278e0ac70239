"""The files that histories are written to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Thread

from tests.checker.events import EffectNoted, RunNoted, read_folder
from tests.checker.log import Log, monotonic_us
from tests.tidy.tree import ROOT

VICTIM = """
import sys
from tests.checker.log import Log
log = Log(sys.argv[1], "victim")
for token in range(1000):
    log.run("job", token, 1)
print("written", flush=True)
sys.stdin.read()
"""


def test_lines_survive_kill_9(tmp_path: Path) -> None:
    command = [sys.executable, "-c", VICTIM, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "written\n"
        victim.kill()
    Log(tmp_path, "test").killed("victim")
    *runs, killed = read_folder(tmp_path)
    assert [run.token for run in runs if isinstance(run, RunNoted)] == list(range(1000))
    assert (killed.op, killed.process) == ("killed", "victim")


def test_a_process_that_goes_on_appends(tmp_path: Path) -> None:
    Log(tmp_path, "w").paused("other")
    Log(tmp_path, "w").resumed("other")
    assert [event.op for event in read_folder(tmp_path)] == ["paused", "resumed"]


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    log = Log(tmp_path, "w")

    def write() -> None:
        for token in range(50):
            log.effect("x" * 5000, token)

    threads = [Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = read_folder(tmp_path)
    assert len([event for event in events if isinstance(event, EffectNoted)]) == 400


def test_the_clock_is_that_of_the_machine(tmp_path: Path) -> None:
    before = monotonic_us()
    Log(tmp_path, "w").run("job", 1, 1)
    [event] = read_folder(tmp_path)
    assert before <= event.at <= monotonic_us()
