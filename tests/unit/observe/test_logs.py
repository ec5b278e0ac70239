"""Logs of the command line: what a line holds, in text and in JSON, whatever a record carries."""

from __future__ import annotations

import io
import itertools
import json
import logging
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock import ConfigError, Tenant
from penstock.observe import logs
from penstock.observe.formats import JsonFormat, TextFormat
from penstock.observe.logs import JobLogger, fields


@contextmanager
def bare_root() -> Iterator[logging.Logger]:
    """The root logger as a fresh process has it."""
    root = logging.getLogger()
    handlers, level, configured = root.handlers[:], root.level, logs.configured
    root.handlers = []
    try:
        yield root
    finally:
        root.handlers, logs.configured = handlers, configured
        root.setLevel(level)


@contextmanager
def ascii_stdout(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.BytesIO]:
    """What goes to stdout, as bytes; the stream is a pipe of a system that speaks only ASCII."""
    binary = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(binary, encoding="ascii", write_through=True))
    with bare_root():
        yield binary


def record(message: str = "hello", *args: Any, level: int = logging.INFO, **extra: Any) -> logging.LogRecord:
    made = logging.LogRecord("penstock.some", level, __file__, 1, message, args, None)
    made.created = 1700000000.25
    vars(made).update(extra)
    return made


def parsed(made: logging.LogRecord) -> dict[str, Any]:
    line = JsonFormat().format(made)
    assert "\n" not in line
    return dict(json.loads(line))


# Fields


def test_fields_name_the_event_and_leave_out_what_is_not_known() -> None:
    assert fields("job.failed", job_id="1", tenant=None, next_try_in=0.0) == {
        "event": "job.failed",
        "job_id": "1",
        "next_try_in": 0.0,
    }


def test_a_job_logger_keeps_the_callers_own_fields(caplog: pytest.LogCaptureFixture) -> None:
    logger = JobLogger(logging.getLogger("penstock.job.mail"), {"job_id": "1", "attempt": 2})
    logger.warning("halfway", extra={"order": 7, "job_id": "forged"})
    logger.warning("done")
    first, second = caplog.records
    assert (vars(first)["job_id"], vars(first)["attempt"], vars(first)["order"]) == ("1", 2, 7)
    assert vars(second)["job_id"] == "1"


# JSON


def test_a_json_line_has_time_level_logger_message_event_and_all_fields() -> None:
    made = record(
        "%s attempt %d failed",
        "1",
        2,
        level=logging.ERROR,
        **fields("job.failed", job_id="1", attempt=2, next_try_in=4.5, error={"type": "OSError", "message": "gone"}),
    )
    assert parsed(made) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "error",
        "logger": "penstock.some",
        "message": "1 attempt 2 failed",
        "event": "job.failed",
        "job_id": "1",
        "attempt": 2,
        "next_try_in": 4.5,
        "error": {"type": "OSError", "message": "gone"},
    }


def test_an_exception_is_a_text_field() -> None:
    made = record()
    try:
        raise ValueError("bad\nthing")
    except ValueError:
        made.exc_info = sys.exc_info()
    made.stack_info = "Stack (most recent call last):\n  somewhere"
    found = parsed(made)["exception"]
    assert found.startswith("Traceback (most recent call last):\n")
    assert "ValueError: bad\nthing" in found
    assert found.endswith("somewhere")


class Rude:
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


CIRCLE: dict[str, Any] = {}
CIRCLE["self"] = CIRCLE
OWN = object()


@pytest.mark.parametrize(
    ("value", "shown"),
    ids=itertools.count(),  # A name made from such a value would break pytest itself.
    argvalues=[
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.10"), "1.10"),
        (Tenant("acme", "eu"), {"org": "acme", "workspace": "eu"}),
        ((1, {2}), [1, [2]]),
        ({3: "a", (1, 2): "b"}, {"3": "a", "(1, 2)": "b"}),
        (float("nan"), None),
        (2**100, 2**100),
        ("half \ud800 a character", "half \\ud800 a character"),
        (["nested \ud800"], "['nested \\ud800']"),
        (ValueError("boom"), "boom"),
        (OWN, str(OWN)),
        (CIRCLE, str(CIRCLE)),
        (Rude(), "<Rude: RuntimeError in its own text>"),
        (10**5000, "<int: ValueError in its own text>"),
        ("two\nlines \x1b[31m", "two\nlines \x1b[31m"),
    ],
)
def test_no_value_breaks_a_json_line(value: object, shown: object) -> None:
    line = parsed(record(odd=value, even=1))
    assert (line["odd"], line["even"]) == (shown, 1)


def test_half_a_character_in_a_message_breaks_nothing() -> None:
    assert parsed(record("half \ud800"))["message"] == "half \\ud800"


def test_a_field_cannot_pose_as_what_every_line_has() -> None:
    made = record()
    vars(made).update({"time": "never", "level": "fine", "logger": "me", "half \ud800": 1})
    line = parsed(made)
    assert (line["time"], line["level"], line["logger"]) == ("2023-11-14T22:13:20.250Z", "info", "penstock.some")


def test_json_is_utf_8_whatever_the_system_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    with ascii_stdout(monkeypatch) as out:
        logs.configure(format="json")
        logging.getLogger("penstock.some").info("grün 水", extra={"job_id": "1"})
    (line,) = out.getvalue().decode("utf-8").splitlines()
    assert json.loads(line)["message"] == "grün 水"


# Text


def test_text_has_the_fields_of_records_that_are_no_events() -> None:
    line = TextFormat().format(record("halfway", job_id="1", attempt=2, note="two\nlines"))
    assert line.endswith(" info penstock.some halfway job_id=1 attempt=2 note=two\\nlines")


def test_text_of_an_event_is_its_message() -> None:
    line = TextFormat().format(record("1 attempt 2 completed", **fields("job.completed", job_id="1", attempt=2)))
    assert line.endswith(" info penstock.some 1 attempt 2 completed")


def test_a_traceback_follows_without_control_characters() -> None:
    made = record()
    try:
        raise ValueError("\x1b[31mred")
    except ValueError:
        made.exc_info = sys.exc_info()
    first, *trace = TextFormat().format(made).split("\n")
    assert first.endswith("hello")
    assert trace[0] == "Traceback (most recent call last):"
    assert trace[-1] == "ValueError: \\x1b[31mred"


def test_text_that_the_system_cannot_speak_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    with ascii_stdout(monkeypatch) as out:
        logs.configure()
        logging.getLogger("penstock.some").info("grün \ud800")
    assert out.getvalue().endswith(b"gr\\xfcn \\ud800\n")


def test_lines_of_several_processes_name_theirs() -> None:
    assert TextFormat(processes=True).format(record(process=4711)).split(" ")[1] == "[4711]"


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def shown(stream: io.StringIO) -> str:
        monkeypatch.setattr(sys, "stdout", stream)
        with bare_root():
            logs.configure()
            logging.getLogger("penstock.some").error("red")
        return stream.getvalue()

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[31merror\x1b[0m" in shown(Terminal())
    assert "\x1b" not in shown(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(Terminal())


# Configuring


def test_the_level_decides_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    with ascii_stdout(monkeypatch) as out:
        logs.configure("warning")
        logging.getLogger("penstock.some").info("quiet")
        logging.getLogger("penstock.some").warning("loud")
    assert out.getvalue().splitlines()[0].endswith(b"loud")


@pytest.mark.parametrize(
    ("level", "format", "problem"),
    [
        ("loud", "text", "log level 'loud' is not known: use one of debug, info, warning, error"),
        ("info", "xml", "log format 'xml' is not known: use one of text, json"),
    ],
)
def test_unknown_words_are_refused(level: str, format: str, problem: str) -> None:
    with bare_root() as root:
        with pytest.raises(ConfigError, match=problem):
            logs.configure(level, format)
        assert root.handlers == []


def test_a_record_is_one_line_with_time_level_and_logger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", out := io.StringIO())
    with bare_root():
        logs.configure()
        logging.getLogger("penstock.some").warning("two\nlines \x1b[31m and %s", "more")
        logging.getLogger("penstock.some").debug("not shown")
    time, rest = out.getvalue().split(" ", 1)
    assert len(time) == len("12:34:56")
    assert rest == "warning penstock.some two\\nlines \\x1b[31m and more\n"


def test_a_program_that_has_configured_logging_keeps_its_own() -> None:
    own = logging.NullHandler()
    with bare_root() as root:
        root.addHandler(own)
        logs.configure()
        assert root.handlers == [own]


def test_a_log_that_nobody_reads_is_given_up_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    with bare_root():
        logs.configure()
        logging.getLogger("penstock.some").warning("lost")
        logging.getLogger("penstock.some").warning("lost too")
    assert capsys.readouterr().err == ""
