"""The rights of a role: every table is thought of, names are quoted, and odd ones are refused."""

from __future__ import annotations

import re

import pytest

from penstock.domain.errors import ConfigError
from penstock.engines import grants
from penstock.store.postgres.admin.grants import RIGHTS, grants_sql
from penstock.store.postgres.connection.statements import migrations


def test_every_table_of_the_schema_has_its_rights() -> None:
    text = "\n".join(sql for _, _, sql in migrations("penstock"))
    made = set(re.findall(r"CREATE (?:TABLE|VIEW) penstock\.(\w+)", text)) - set(
        re.findall(r"DROP TABLE penstock\.(\w+)", text)
    )
    granted = [table for tables in RIGHTS.values() for table in tables]
    assert sorted(granted) == sorted(made)


def test_both_names_are_quoted_and_nothing_of_another_schema_is_granted() -> None:
    text = grants_sql("shop", "Shop-worker")
    granted = [line for line in text.splitlines() if line.startswith("GRANT")]
    assert len(granted) == len(RIGHTS) + 3
    assert all(line.endswith(' TO "Shop-worker";') and '"shop"' in line for line in granted)
    assert "penstock." not in text


@pytest.mark.parametrize("role", ["", 'a"b', "a b", "a;b", "1a", "a\nb", "x" * 64, "public", "none"])
def test_a_role_that_cannot_be_meant_is_refused(role: str) -> None:
    with pytest.raises(ConfigError, match="role"):
        grants_sql("penstock", role)


def test_a_file_has_no_roles() -> None:
    with pytest.raises(ConfigError, match="SQLite has no roles"):
        grants("sqlite:///jobs.db", "worker")


def test_the_schema_comes_from_the_address() -> None:
    assert grants("postgresql://host/jobs?schema=shop", "worker") == grants_sql("shop", "worker")
