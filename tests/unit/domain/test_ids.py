"""Job ids: version 7 UUIDs that grow, also within one moment and when the clock steps back."""

from __future__ import annotations

import threading
import uuid

import pytest

from penstock.domain.errors import ConfigError
from penstock.domain.ids import check_id
from penstock.system import ids
from penstock.system.ids import IdSource
from tests.contract.clock import START_US, FakeClock


def test_they_are_uuids_of_version_7_with_the_time_in_front() -> None:
    made = uuid.UUID(IdSource(FakeClock()).next_id())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == START_US // 1000


def test_they_grow_while_the_clock_stands_still() -> None:
    source = IdSource(FakeClock())
    made = [source.next_id() for _ in range(10_000)]
    assert made == sorted(set(made))
    assert all(uuid.UUID(one).version == 7 for one in made[::1000])


def test_many_at_once_go_on_where_the_last_ended() -> None:
    source = IdSource(FakeClock())
    made = [source.next_id(), *source.next_ids(9000), source.next_id(), *source.next_ids(0)]
    assert made == sorted(set(made))
    assert len(made) == 9002


def test_they_grow_when_the_clock_steps_back() -> None:
    clock = FakeClock()
    source = IdSource(clock)
    first = source.next_id()
    clock.advance(-3600)
    second = source.next_id()
    clock.advance(7200)
    assert first < second < source.next_id()


def test_sources_do_not_collide() -> None:
    clock = FakeClock()
    made = [IdSource(clock).next_id() for _ in range(500)]
    assert len(set(made)) == 500


def test_threads_share_a_source() -> None:
    source = IdSource(FakeClock())
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.extend([source.next_id() for _ in range(500)])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 2000


def test_after_a_fork_the_child_makes_others() -> None:
    source = IdSource(FakeClock())
    before = source.next_id()
    ids._count_fork()
    after = source.next_id()
    assert after[-17:] != before[-17:]
    assert source.next_id()[-17:] == after[-17:]


@pytest.mark.parametrize("text", ["01ba60d3-3800-7000-89c8-e1155c9a571b", "01BA60D3-3800-7000-89C8-E1155C9A571B"])
def test_one_spelling(text: str) -> None:
    assert check_id(text) == "01ba60d3-3800-7000-89c8-e1155c9a571b"


@pytest.mark.parametrize(
    "text", ["", "7", "01ba60d338007000 89c8e1155c9a571b", "x" * 36, "01ba60d3-3800-7000-89c8-e1155c9a571b\n"]
)
def test_what_is_not_an_id(text: str) -> None:
    with pytest.raises(
        ConfigError, match=r"is not a job id: one looks like 0198c0de-.*; penstock jobs list shows them"
    ):
        check_id(text)
