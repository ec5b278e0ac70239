"""`make test` runs every folder of tests once, tells what failed in full, and of the rest how long it took."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests import side_by_side
from tests.long import NOT_RUN
from tests.side_by_side import AGAIN, COVERING, FOLDERS, MEASURED, TYPES, chosen, in_memory, main, whole


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
    assert parts.pop("types") == TYPES
    assert {command.pop() for command in parts.values()} == {"--long=none"}
    again, contract, others = (parts.pop(name) for name in ("tests/contract again", "tests/contract", "the others"))
    assert again[-3:] == ["tests/contract", "-k", AGAIN]
    assert contract[-3:] == ["tests/contract", "-k", f"not ({AGAIN})"]
    assert {name: command[-1] for name, command in parts.items()} == {
        f"tests/{folder}": f"tests/{folder}" for folder in FOLDERS if folder != "contract"
    }
    assert [argument for argument in others if argument.startswith("--ignore")] == [
        f"--ignore=tests/{folder}" for folder in FOLDERS
    ]


def test_coverage_is_measured_where_it_is_asked_for() -> None:
    def measured(arguments: list[str]) -> set[str]:
        return {name for name, command in chosen(arguments).items() if command[: len(MEASURED)] == MEASURED}

    assert measured(["--coverage"]) == {f"tests/{folder}" for folder in COVERING}
    assert measured([]) == set()


def test_of_green_parts_it_is_told_what_they_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    said = f"much\n{NOT_RUN}: 3, of tests/a.py (3)\n=== 5 passed, 3 deselected in 2 s ==="
    assert main({"part": python(f"print({said!r})")}) == 0
    assert capsys.readouterr().out.splitlines() == [
        "part: 5 passed, 3 deselected in 2 s", f"{NOT_RUN}: 3, of tests/a.py (3)",
    ]  # fmt: skip


def test_what_tests_make_is_in_memory_where_there_is_room_and_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(side_by_side, "MEMORY_BYTES", 1)
    with in_memory(tmp_path) as folder:
        assert main({"part": python("import tempfile; print(tempfile.mkdtemp())")}, folder) == 0
        assert capsys.readouterr().out.startswith(f"part: {folder}/")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "needed"), [("there", 1 << 60), ("not there", 1)])
def test_without_room_in_memory_it_is_where_such_things_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, needed: int
) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.setattr(side_by_side, "MEMORY_BYTES", needed)
    with in_memory(tmp_path / name) as folder:
        assert folder is None


def test_a_part_without_any_test_of_a_slice_is_no_failure() -> None:
    assert main({"part": python(f"import sys; sys.exit({int(pytest.ExitCode.NO_TESTS_COLLECTED)})")}) == 0


def test_the_long_ones_are_run_from_every_folder() -> None:
    for arguments, option in ((["--long"], "--long=only"), (["--long", "3"], "--long=3")):
        parts = chosen(arguments)
        assert {command.pop() for command in parts.values()} == {option}
        assert [name for name in parts if name != "the others"] == [f"tests/{folder}" for folder in FOLDERS]
        assert parts["the others"][-len(FOLDERS) :] == [f"--ignore=tests/{folder}" for folder in FOLDERS]


def test_what_is_due_is_another_slice_than_the_nets_of_make_test(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(side_by_side, "turn", lambda: 7)
    assert {command[-1] for command in chosen(["--long", "next"]).values()} == {"--long=2"}
    assert "slice 2 of 10" in capsys.readouterr().out


@pytest.mark.parametrize("which", ["10", "some"])
def test_a_slice_that_there_is_not_is_told_with_those_that_there_are(which: str) -> None:
    with pytest.raises(SystemExit, match=f"no slice '{which}' of the long tests: SLICE=0 … 9, or next"):
        chosen(["--long", which])


@pytest.mark.parametrize("arguments", [["3"], ["--coverage", "3"]])
def test_wrong_words_are_told(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="--long"):
        chosen(arguments)
