"""What the tests of callers' connections leave behind is cleaned up at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_greenlet_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """SQLAlchemy's async side runs in greenlets. One that is collected while Python 3.11 parses code breaks that."""
    yield
    if request.path.name.startswith("test_guests"):
        gc.collect()
