"""docs/states.md and the transition table of the domain say the same."""

from __future__ import annotations

import re

from penstock.domain.job import SYNONYMS, TRANSITIONS, Event, State
from tests.docs.pages import ROOT

TEXT = (ROOT / "docs" / "states.md").read_text(encoding="utf-8")


def test_the_page_lists_exactly_the_transitions() -> None:
    rows = re.findall(r"^\| (\w+) \| (\w+) \| (\w+) \|$", TEXT, flags=re.MULTILINE)
    assert len(rows) == len(set(rows)), "a row is there twice"
    assert set(rows) == {(str(state), str(event), str(after)) for (state, event), after in TRANSITIONS.items()}


def test_the_page_explains_every_state() -> None:
    explained = re.findall(r"^\| (\w+) \| (?!\w+ \|)[^|]+ \|$", TEXT, flags=re.MULTILINE)
    assert [state for state in explained if state != "state"] == [str(state) for state in State]


def test_the_page_explains_every_event() -> None:
    assert [event for event in Event if f"`{event}`" not in TEXT] == []


def test_the_page_names_the_words_of_other_systems() -> None:
    assert [word for word in SYNONYMS if f"`{word}`" not in TEXT] == []
