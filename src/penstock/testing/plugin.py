"""The pytest plugin: the fixture `jobs`, and the app that it is about. Imports nothing before a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from penstock.app import App
    from penstock.testing.jobs import Sandbox

INI = "penstock_app"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(INI, "the app that the fixture `jobs` is about, as MODULE:APP, such as tasks:app", default="")


@pytest.fixture(scope="session")
def penstock_app(pytestconfig: pytest.Config) -> App:
    """The app under test: named by the ini option penstock_app, or by a fixture of this name in your conftest.py."""
    from penstock.cli.input.load import load_app
    from penstock.domain.errors import PenstockError

    target = pytestconfig.getini(INI)
    if not target:
        pytest.fail(
            f"the fixture `jobs` does not know your app: set {INI} = tasks:app in pytest's ini file, "
            f"or write a fixture {INI}() in conftest.py that returns it",
            pytrace=False,
        )
    try:
        return load_app(target)
    except PenstockError as error:
        pytest.fail(f"{INI} = {target}: {error}", pytrace=False)


@pytest.fixture
def jobs(penstock_app: App) -> Iterator[Sandbox]:
    """The app on a private, empty store and on fake time, for this test: see penstock.testing.Sandbox."""
    from penstock.testing.blocks import sandbox

    with sandbox(penstock_app) as made:
        yield made
