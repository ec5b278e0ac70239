from __future__ import annotations

from penstock.cli.output.tables import clean, one_line, plural


def test_control_characters_of_others_never_reach_the_terminal() -> None:
    assert clean("a\x1b[31mb\x07\x9b2J\n\tc") == "a\\x1b[31mb\\x07\\x9b2J\n\tc"
    assert clean("grün 水") == "grün 水"


def test_long_texts_are_cut_with_a_mark() -> None:
    assert one_line("a  b\nc") == "a b c"
    assert one_line("x" * 20, 10) == "x" * 9 + "…"


def test_one_is_singular() -> None:
    assert (plural(1, "job"), plural(0, "job"), plural(2000, "job")) == ("1 job", "0 jobs", "2,000 jobs")
