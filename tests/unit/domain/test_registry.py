"""Declarations by name: one handler per name, aliases included."""

from __future__ import annotations

import pytest

from penstock.domain.errors import ConfigError
from penstock.domain.options import Options
from penstock.domain.registry import Declaration, Registry
from penstock.domain.signature import signature_of


def handler(x: int) -> int:
    return x


def declaration(name: str, *aliases: str) -> Declaration:
    return Declaration(
        name=name, function=handler, signature=signature_of(handler, skip_first=False), options=Options(),
        wants_context=False, is_async=False, aliases=aliases,
    )  # fmt: skip


def test_found_by_name_and_alias() -> None:
    registry = Registry()
    mail = declaration("mail", "old-mail", "older-mail")
    registry.add(mail)
    assert registry.find("mail") is registry.find("older-mail") is mail
    assert registry.find("unknown") is None
    assert registry.names() == ("mail", "old-mail", "older-mail")
    assert list(registry) == [mail]
    assert len(registry) == 1


@pytest.mark.parametrize("second", [("mail",), ("other", "mail"), ("old-mail",), ("other", "old-mail")])
def test_two_handlers_under_one_name(second: tuple[str, ...]) -> None:
    registry = Registry()
    registry.add(declaration("mail", "old-mail"))
    with pytest.raises(ConfigError, match=r"two handlers.*test_registry\.handler.*test_registry\.py:\d+"):
        registry.add(declaration(*second))
    assert registry.find("other") is None


def test_a_name_that_is_not_usable() -> None:
    with pytest.raises(ConfigError, match="job name"):
        Registry().add(declaration("two words"))
