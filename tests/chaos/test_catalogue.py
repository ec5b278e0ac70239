"""The fault table is complete, and the choice of runs is what was asked for."""

from __future__ import annotations

from tests.chaos.__main__ import chosen
from tests.chaos.catalogue import ELSEWHERE, ROWS, all_faults
from tests.chaos.sizes import FULL, SHORT
from tests.nursery.nursery import ROOT


def test_every_row_of_the_table_has_a_fault_or_a_place() -> None:
    rows = {fault.row for fault in all_faults()}
    assert rows | ELSEWHERE.keys() == ROWS.keys()


def test_what_is_proved_elsewhere_is_there() -> None:
    assert [place for place in ELSEWHERE.values() if not (ROOT / place).exists()] == []


def test_every_row_with_a_fault_runs_in_both_sizes() -> None:
    faults = all_faults()
    for row in {fault.row for fault in faults}:
        assert any(fault.short for fault in faults if fault.row == row), row
        assert any(fault.full for fault in faults if fault.row == row), row


def test_every_fault_says_what_it_does() -> None:
    assert [fault.name for fault in all_faults() if not fault.story.endswith(".")] == []


def test_a_name_chooses_one_fault_in_any_size() -> None:
    runs = list(chosen(all_faults(), "crash-before-claim", None, SHORT))
    assert [(fault.name, engine) for fault, engine in runs] == [
        ("crash-before-claim", "sqlite"),
        ("crash-before-claim", "postgresql"),
    ]


def test_the_beginning_of_a_name_chooses_all_that_begin_so() -> None:
    runs = list(chosen(all_faults(), "crash-after", "sqlite", FULL))
    assert len(runs) > 3
    assert {engine for _, engine in runs} == {"sqlite"}


def test_without_a_name_the_size_decides() -> None:
    short = {fault.name for fault, _ in chosen(all_faults(), None, None, SHORT)}
    full = {fault.name for fault, _ in chosen(all_faults(), None, None, FULL)}
    assert "crash-points" in short - full
    assert "crash-before-claim" in full - short
