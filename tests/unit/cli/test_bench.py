"""The pure parts of `penstock bench`: medians, the time that is left, and what is said of a server."""

from __future__ import annotations

import os
from typing import Any

import pytest

from penstock.bench import fresh_postgres, machine
from penstock.bench.figures import Record, summary
from penstock.bench.fresh_postgres import is_here, notes_on
from penstock.bench.rounds import time_left


def test_a_figure_is_the_median_of_the_rounds_and_pickups_are_taken_together() -> None:
    record = Record()
    for rate, pickups in ((10, [1.0] * 50), (1000, [2.0] * 50), (20, [3.0] * 48 + [8.0, 9.0])):
        record.begin_round()
        record.note("drain_per_s", rate)
        record.note("pickup_ms", *pickups)
    assert summary(record.rounds) == {"drain_per_s": 20, "pickup_ms_p50": 2.0, "pickup_ms_p99": 8.0}
    assert [summary([noted])["pickup_ms_p99"] for noted in record.rounds] == [1.0, 2.0, 9.0]


def test_the_time_left_is_what_the_parts_took_before() -> None:
    assert time_left(["a", "b"], {}) == ""
    assert time_left(["b", "c", "a"], {"a": 50.0, "b": 30.0}) == "about 2:00 left"  # c is new: 40 s, as the others.


def test_a_median_does_not_count_the_first_time() -> None:
    calls: list[int] = []
    assert machine.median_ms(lambda: calls.append(1), 3) >= 0
    assert len(calls) == 4


def server(**changed: Any) -> dict[str, Any]:
    return {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "server": "this machine",
            "round_trip_ms": 1.5, **changed}  # fmt: skip


def test_nothing_is_said_of_a_safe_server_on_this_machine() -> None:
    assert notes_on(server(file_system="ext4")) == []
    assert notes_on(server(synchronous_commit="remote_apply")) == []


@pytest.mark.parametrize("setting", ["fsync", "synchronous_commit", "full_page_writes"])
def test_a_server_that_may_lose_data_is_not_comparable(setting: str) -> None:
    [note] = notes_on(server(**{setting: "off"}))
    assert note.startswith(f"unsafe: not comparable: {setting} off")
    assert f"ALTER SYSTEM SET {setting} = on" in note


def test_a_server_in_memory_is_not_comparable() -> None:
    [note] = notes_on(server(file_system="tmpfs"))
    assert note.startswith("unsafe: not comparable: the server's files are on tmpfs")


def test_a_server_elsewhere_has_the_network_in_its_figures() -> None:
    [note] = notes_on(server(server="another machine"))
    assert "another machine: 1.5 ms for each round trip are in the figures" in note


def test_which_addresses_are_of_this_machine() -> None:
    assert is_here("127.0.0.1")
    assert is_here("")  # A Unix socket.
    assert not is_here("192.0.2.1")  # An address for documentation: nobody has it.
    assert not is_here("2001:db8::1")


def test_the_disk_of_a_server_is_measured_only_where_this_folder_is_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh_postgres, "disk_flush_ms", lambda folder: 0.5)
    here = os.path.abspath(".")
    assert fresh_postgres._disk(here)["disk_flush_ms"] == 0.5
    assert "disk_flush_ms" not in fresh_postgres._disk("/proc")
    assert fresh_postgres._disk("/nowhere/at/all") == {}
    assert fresh_postgres._disk(None) == {}
