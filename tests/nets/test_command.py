"""python -m tests.nets says what is wrong with what was asked for, and does not claim what was not done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.nets import __main__ as nets
from tests.nets.many import Told
from tests.nets.operations import OPERATIONS
from tests.nursery.nursery import ROOT
from tests.side_by_side import INTERRUPTED


@pytest.mark.parametrize("option", ["--first", "--second"])
def test_operations_are_told_once_the_most_alike_first(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        nets.main(["writes", option, "cancel what wait"])
    said = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert said[:2] == ['no operation is called "cancel what wait"; there are:', '  "cancel what waits"']
    assert {f'  "{name}"' for name in OPERATIONS} <= set(said)
    assert len(said) == len(set(said))


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
