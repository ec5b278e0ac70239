"""What is forked is a process like any other: its own arguments, environment, output, signals and end."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.nursery import nursery

SECONDS = 30.0


def run(folder: Path, code: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """How a script ends, and what it says."""
    child = started(folder, code, *arguments, **environment)
    return child.wait(SECONDS), (folder / "output").read_text()


def started(folder: Path, code: str, *arguments: str, **environment: str) -> nursery.Child | subprocess.Popen[bytes]:
    script = folder / "script.py"
    script.write_text("import os, signal, sys, time\n" + code)
    with (folder / "output").open("wb") as output, open(os.devnull, "rb") as nothing:
        return nursery.start(
            str(script), *arguments, environment={**os.environ, **environment}, stdin=nothing.fileno(),
            stdout=output.fileno(),
        )  # fmt: skip


def test_it_has_its_own_arguments_environment_and_folder(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("word = 'beside'")
    code = "import beside\nprint(sys.argv, os.environ['MINE'], beside.word, __name__, os.read(0, 1))"
    told = f"{[str(tmp_path / 'script.py'), 'one', 'two']} yes beside __main__ b''\n"
    assert run(tmp_path, code, "one", "two", MINE="yes") == (0, told)
    assert run(tmp_path, "print('MINE' in os.environ, 'beside' in sys.modules)") == (0, "False False\n")


@pytest.mark.parametrize(
    ("code", "ending", "told"),
    [
        ("sys.exit(7)", 7, ""),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("os._exit(3)", 3, ""),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ""),
        ("os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)", -signal.SIGINT, "KeyboardInterrupt"),
        ("import atexit; atexit.register(print, 'the last word')", 0, "the last word"),
    ],
)
def test_its_end_is_told_as_of_any_process(tmp_path: Path, code: str, ending: int, told: str) -> None:
    found, said = run(tmp_path, code)
    assert (found, told in said) == (ending, True), said


def test_a_module_is_run_as_the_main_one(tmp_path: Path) -> None:
    with (tmp_path / "output").open("wb") as output, open(os.devnull, "rb") as nothing:
        child = nursery.start("this", environment=os.environ, stdin=nothing.fileno(), stdout=output.fileno())
    assert child.wait(SECONDS) == 0
    assert "Namespaces" in (tmp_path / "output").read_text()


def test_it_is_a_child_that_can_be_waited_for_and_ended(tmp_path: Path) -> None:
    child = started(tmp_path, "time.sleep(300)")
    assert child.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.01)
    child.kill()
    assert child.wait(SECONDS) == -signal.SIGKILL
    child.kill()
    with pytest.raises(ChildProcessError):
        os.waitpid(child.pid, 0)


def test_two_of_them_draw_different_numbers(tmp_path: Path) -> None:
    code = "import random, uuid; print(random.random(), uuid.uuid4())"
    assert run(tmp_path, code) != run(tmp_path, code)
