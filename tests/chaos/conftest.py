"""The server of all short runs, and the seed of this session: given by CHAOS_SEED, or drawn."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator

import pytest

from tests.chaos.servers import new_server
from tests.postgres.server import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Callable[[], Server]]:
    with new_server() as give:
        yield give


@pytest.fixture(scope="session")
def seed() -> int:
    given = os.environ.get("CHAOS_SEED")
    return int(given) if given else random.SystemRandom().randint(1, 999_999)
