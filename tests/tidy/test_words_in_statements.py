"""Statements take states, their codes and events from the domain: `{DEAD}`, `{CANCEL}`, never the bare code or word."""

from __future__ import annotations

import re

import pytest

from penstock.domain.job import Event, State
from penstock.store.postgres.connection import statements as postgres
from penstock.store.sql.words import WORDS
from penstock.store.sqlite.connection import statements as sqlite

TEXTS = {
    f"{engine} {name}": file.read_text("utf-8")
    for engine, files in (("postgres", postgres.sql_files()), ("sqlite", sqlite.sql_files()))
    for name, file in files.items()
}
PLACES = {
    "sqlite check_pointers": ["'scheduled'"],
    "postgres expire_jobs": ["'expired'"],
    "sqlite fold_into": ["'completed'", "'retried'", "'dead'", "'cancelled'", "'expired'"],
    "sqlite fold_tenants": ["'completed'"],
    "sqlite store_gauges": ["'pending'", "'blocked'", "'scheduled'", "'claimed'", "'running'"],
}
"""Words of the same letters that name a table, a column or a count."""
OTHER_NUMBERS = re.compile(
    r"LIMIT \d|SELECT 1\b|->>? ?\d+|(?:GROUP|ORDER) BY .*|\b(?:cancel|released) = 1|pointers > 1"
    r"|\(\d, (?:done|moment)\.|\$\[\d.*?'|\}, 1\)|, 1, 0\)"
)


def bare_words(text: str) -> list[str]:
    return [word for word in re.findall(r"'[a-z_]+'", text) if word[1:-1] in {*Event, *State}]


def bare_codes(text: str) -> list[str]:
    if not re.search(r"\b(?:penstock[._]outcome|penstock[._]member)\b", text):
        return []
    return re.findall(r"(?<![-\w.$'])[1-4](?![\w.'])", OTHER_NUMBERS.sub("", re.sub(r"--.*", "", text)))


@pytest.mark.parametrize("name", TEXTS)
def test_a_statement_has_no_bare_word_or_code(name: str) -> None:
    assert bare_words(TEXTS[name]) == PLACES.get(name, [])
    assert bare_codes(TEXTS[name]) == []


def test_bare_ones_are_found() -> None:
    assert bare_words("SELECT 'cancel', 'ttl' -- {CANCEL}") == ["'cancel'"]
    assert bare_codes("UPDATE penstock_outcome SET state = 2 WHERE state IN (1, {DEAD}) LIMIT 1") == ["2", "1"]
    assert WORDS["CANCEL"] == "'cancel'"
    assert WORDS["CANCELLED"] == "3"


def test_every_word_in_a_statement_is_known() -> None:
    used = {word for text in TEXTS.values() for word in re.findall(r"\{([A-Z_]+)\}", text)}
    assert used - WORDS.keys() == set()
