"""`make test` runs every folder of tests once, tells what failed in full, and of the rest how long it took."""

from __future__ import annotations

import signal
import sys

import pytest

from tests.side_by_side import AGAIN, FOLDERS, main, whole


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


GREEN = python("print('much'); print('=== 5 passed in 2 s ===')")
RED = python("import sys; print('a test failed'); print('=== 1 failed ==='); sys.exit(1)")


def test_of_green_parts_the_last_line_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main({f"part {number}": GREEN for number in range(5)}) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == [f"part {number}: 5 passed in 2 s" for number in range(5)]


def test_a_part_that_fails_tells_everything_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main({"bad": RED, "good": GREEN}) == 1
    told = capsys.readouterr().out
    assert "a test failed" in told
    assert "good: 5 passed in 2 s" in told


def test_what_it_starts_hears_ctrl_c_also_when_a_shell_made_it_deaf(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert main({"ears": python("import signal; print(signal.getsignal(signal.SIGINT))")}) == 0
    finally:
        signal.signal(signal.SIGINT, before)
    assert "default_int_handler" in capsys.readouterr().out


def test_no_folder_is_run_twice_or_left_out() -> None:
    parts = whole()
    again, contract, others = (parts.pop(name) for name in ("tests/contract again", "tests/contract", "the others"))
    assert again[-3:] == ["tests/contract", "-k", AGAIN]
    assert contract[-3:] == ["tests/contract", "-k", f"not ({AGAIN})"]
    assert {name: command[-1] for name, command in parts.items()} == {
        f"tests/{folder}": f"tests/{folder}" for folder in FOLDERS if folder != "contract"
    }
    assert [argument for argument in others if argument.startswith("--ignore")] == [
        f"--ignore=tests/{folder}" for folder in FOLDERS
    ]
