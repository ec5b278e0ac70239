"""The table of keys holds together."""

from __future__ import annotations

import pytest

from penstock.config.keys import BY_NAME, BY_VARIABLE, GROUPS, KEYS, Key, variable
from penstock.config.load import load


def test_names_and_variables_are_unique() -> None:
    assert len(BY_NAME) == len(BY_VARIABLE) == len(KEYS)
    assert not GROUPS & set(BY_NAME)


def test_a_variable_is_the_key_in_capitals() -> None:
    assert variable("worker.resources.cpu") == "PENSTOCK_WORKER_RESOURCES_CPU"
    assert variable("store") == "PENSTOCK_STORE"


def test_flags_are_unique() -> None:
    flags = [key.flag for key in KEYS if key.flag]
    assert len(flags) == len(set(flags))


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_a_default_can_be_shown_and_written(key: Key) -> None:
    assert key.help.endswith(".")
    if key.name == "store":
        assert key.show(None) == "not set"
    else:
        assert key.read(key.show(key.default)) == key.default == load()[key.name]


def test_a_shown_address_has_no_password() -> None:
    assert BY_NAME["store"].show("postgresql://me:secret@host/db") == "postgresql://me:***@host/db"
