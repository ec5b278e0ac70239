"""Lines of a history: written, read and merged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.checker.bad import BAD
from tests.checker.events import Event, from_line, kind_of, merge, read_file, read_folder, to_line
from tests.checker.good import good_story
from tests.checker.history import NEVER, History


def killed(at: int, process: str = "w1") -> Event:
    return Event(at=at, process=process, op="killed", phase="note")


def line(**fields: Any) -> bytes:
    return msgspec.json.encode(fields) + b"\n"


def test_every_event_is_read_as_it_was_written() -> None:
    events = [*good_story().events, *(event for bad in BAD for event in bad.story().events)]
    assert [from_line(to_line(event)) for event in events] == events


def test_a_line_that_somebody_else_wrote_is_understood() -> None:
    told = from_line(
        b'{"at":5,"process":"w","op":"claim","phase":"ok","call":3,"session":1,'
        b'"jobs":[{"id":"a","token":7,"attempt":1,"crashes":0}],"shoe_size":42}'
    )
    assert told == kind_of("claim", "ok")(
        at=5,
        process="w",
        op="claim",
        phase="ok",
        call=3,
        session=1,
        jobs=told.jobs,  # type: ignore[attr-defined, call-arg]
    )


@pytest.mark.parametrize(("op", "phase"), [("clam", "ok"), ("clam", "note"), ("claim", "note"), ("run", "invoke")])
def test_an_unknown_kind_names_the_place_to_add_it(op: str, phase: Any) -> None:
    with pytest.raises(ValueError, match=rf"a {phase} of '{op}' is not known; add its form to tests/checker/events.py"):
        kind_of(op, phase)


def test_the_files_of_a_folder_are_merged_by_their_moments(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(to_line(killed(1, "a")) + to_line(killed(4, "a")))
    (tmp_path / "b.jsonl").write_bytes(to_line(killed(2, "b")) + to_line(killed(3, "b")))
    (tmp_path / "notes.txt").write_text("not a history")
    assert [(event.at, event.process) for event in read_folder(tmp_path)] == [(1, "a"), (2, "b"), (3, "b"), (4, "a")]


def test_events_of_one_moment_keep_the_order_of_their_process() -> None:
    one, other = killed(1, "first"), killed(1, "second")
    assert merge([[one, other]]) == [one, other]


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    path.write_bytes(to_line(killed(1)) + to_line(killed(2))[:-5])
    assert read_file(path) == [killed(1)]


@pytest.mark.parametrize("text", [b"not json\n", line(op="killed", phase="note"), line(op="clam", phase="ok")])
def test_any_other_bad_line_is_named(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "w.jsonl"
    path.write_bytes(to_line(killed(1)) + text)
    with pytest.raises(ValueError, match=r"w\.jsonl:2 is not a line of a history"):
        read_file(path)


# Operations


def asked(at: int, call: int, process: str = "w") -> Event:
    return kind_of("expire", "invoke")(at=at, process=process, op="expire", phase="invoke", call=call)


def told(at: int, call: int, phase: Any, process: str = "w") -> Event:
    return kind_of("expire", phase)(at=at, process=process, op="expire", phase=phase, call=call)


def test_questions_and_answers_are_joined_by_process_and_call() -> None:
    events = [asked(1, 1), asked(2, 1, "v"), told(3, 1, "ok"), told(4, 1, "ok", "v")]
    found = History(events).of("expire")
    assert [(one.process, one.begun, one.ended, one.outcome) for one in found] == [
        ("w", 1, 3, "ok"),
        ("v", 2, 4, "ok"),
    ]


def test_without_an_answer_and_after_an_unknown_one_nobody_knows_when_it_ends() -> None:
    found = History([asked(1, 1), told(2, 1, "unknown"), asked(3, 2)]).of("expire")
    assert [(one.outcome, one.begun, one.ended) for one in found] == [("unknown", 1, NEVER), ("unknown", 3, NEVER)]


def test_what_failed_stored_nothing_and_is_no_operation() -> None:
    assert History([asked(1, 1), told(2, 1, "fail")]).of("expire") == []


def test_an_answer_without_a_question_is_an_error() -> None:
    with pytest.raises(ValueError, match="every process needs a name and a Log of its own"):
        History([told(1, 1, "ok")])
