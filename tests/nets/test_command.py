"""python -m tests.nets says what is wrong with what was asked for, and does not claim what was not done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos import __main__ as chaos
from tests.commands import INTERRUPTED
from tests.nets import __main__ as nets
from tests.nets.many import Told
from tests.nets.operations import OPERATIONS
from tests.nursery.nursery import ROOT
from tests.simulation import __main__ as simulation


@pytest.mark.parametrize("option", ["--first", "--second"])
def test_operations_are_told_once_the_most_alike_first(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        nets.main(["writes", option, "cancel what wait"])
    said = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert said[:2] == ['no operation is called "cancel what wait"; there are:', '  "cancel what waits"']
    assert {f'  "{name}"' for name in OPERATIONS} <= set(said)
    assert len(said) == len(set(said))


@pytest.mark.parametrize(
    ("main", "arguments"),
    [
        (nets.main, ["interleavings", "--pairs", "0"]),
        (nets.main, ["writes", "--pairs", "-3"]),
        (nets.main, ["power", "--operations", "0"]),
        (nets.main, ["interleavings", "--first", ""]),
        (simulation.main, ["--seeds", "0"]),
        (simulation.main, ["--seeds", "-3"]),
        (chaos.main, ["--fault", ""]),
    ],
)
def test_a_run_of_nothing_is_a_mistake_and_not_a_success(
    main: Callable[[list[str]], int], arguments: list[str]
) -> None:
    try:
        code: object = main(arguments)
    except SystemExit as ended:
        code = ended.code
    assert code == 2


def test_there_must_be_a_folder_for_what_is_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        simulation.main(["--seed", "1", "--save", str(tmp_path / "none" / "story")])
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("net", ["interleavings", "writes", "power"])
def test_what_was_interrupted_says_so(
    net: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def one(*_: object) -> Iterator[Told]:
        yield Told("expire", "age", holds=3)
        raise KeyboardInterrupt

    monkeypatch.setattr(nets, "run_many", one)
    monkeypatch.setattr(nets, "hear_interrupts", lambda: None)
    assert nets.main([net, "--first", "expire"]) == INTERRUPTED
    assert capsys.readouterr().out.splitlines()[-1].startswith("interrupted: 1 of ")


POOL = """
import os, signal, time
from tests.simulation.many import leave_interrupts, new_pool
if __name__ == "__main__":
    try:
        with new_pool(2, leave_interrupts) as pool:
            time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted")
else:
    deaf = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    os.write(1, b"deaf\\n" if deaf else b"hears it\\n")
    time.sleep(60)
"""


def test_processes_that_are_just_starting_do_not_hear_ctrl_c(tmp_path: object) -> None:
    """As a terminal sends it: to all of them, while they still import what they need."""
    program = f"{tmp_path}/slow_to_import.py"
    with open(program, "w", encoding="utf-8") as file:
        file.write(POOL)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, program], env=env, start_new_session=True, **pipes) as main:  # type: ignore[call-overload]
        assert [main.stdout.readline() for _ in range(2)] == ["deaf\n"] * 2
        os.killpg(main.pid, signal.SIGINT)
        assert main.communicate(timeout=60) == ("interrupted\n", "")
