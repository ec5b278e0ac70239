from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.cli.output import clean, one_line, plural
from penstock.observe import logs


def test_control_characters_of_others_never_reach_the_terminal() -> None:
    assert clean("a\x1b[31mb\x07\x9b2J\n\tc") == "a\\x1b[31mb\\x07\\x9b2J\n\tc"
    assert clean("grün 水") == "grün 水"


def test_long_texts_are_cut_with_a_mark() -> None:
    assert one_line("a  b\nc") == "a b c"
    assert one_line("x" * 20, 10) == "x" * 9 + "…"


def test_one_is_singular() -> None:
    assert (plural(1, "job"), plural(0, "job"), plural(2000, "job")) == ("1 job", "0 jobs", "2,000 jobs")


@contextmanager
def bare_root() -> Iterator[logging.Logger]:
    """The root logger as a fresh process has it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    try:
        yield root
    finally:
        root.handlers = handlers
        root.setLevel(level)


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
