"""What `import penstock` gives, and what it costs."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import penstock

HEAVY = ("asyncio", "apsw", "psycopg", "rich", "typer", "sqlite3", "pydantic")


def test_importing_penstock_loads_nothing_heavy() -> None:
    code = f"import sys, penstock; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_public_names_are_sorted() -> None:
    assert penstock.__all__ == sorted(penstock.__all__)


def test_public_names_exist_and_nothing_else_is_public() -> None:
    for name in penstock.__all__:
        assert getattr(penstock, name) is not None
    visible = {
        name
        for name, value in vars(penstock).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "TYPE_CHECKING"
    }
    assert visible == set(penstock.__all__) == set(dir(penstock))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Appp'"):
        getattr(penstock, "Appp")  # noqa: B009 — a type checker would refuse the plain spelling


def test_every_public_name_has_a_docstring_of_its_own() -> None:
    inherited = {Exception.__doc__, None, ""}
    assert [name for name in penstock.__all__ if getattr(penstock, name).__doc__ in inherited] == []


def test_every_public_method_has_a_docstring_unless_it_is_the_async_twin_of_one() -> None:
    bare = [
        f"{kind.__name__}.{name}"
        for kind in (penstock.App, penstock.JobType)
        for name, value in vars(kind).items()
        if inspect.isfunction(value) and not name.startswith("_") and not value.__doc__ and name[1:] not in vars(kind)
    ]
    assert bare == []
