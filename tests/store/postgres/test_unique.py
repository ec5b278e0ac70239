"""A unique key that somebody else takes at the same moment: whoever waited for the key sees the job that has it now."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock import Unique
from tests.postgres.processes import wait_until
from tests.postgres.server import shared
from tests.store.postgres.trouble import Place, new_place


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place(shared(18)) as place:
        place.app.store.migrate()
        yield place


def waits(place: Place) -> bool:
    return bool(place.backends(f"wait_event_type = 'Lock' AND query LIKE '%{place.schema}%unique_key%'"))


@pytest.mark.parametrize("before", ["never held", "its holder has ended", "its period is over"])
def test_who_waited_for_a_key_gets_the_job_that_took_it(place: Place, before: str) -> None:
    per = "1h" if "period" in before else None
    if before != "never held":
        old = place.app.enqueue("note", {"number": 0}, unique=Unique("key", per=per))
        old.cancel()
        place.rows("UPDATE unique_key SET expires_at = 1 WHERE expires_at IS NOT NULL")
    rival = place.open()
    with ThreadPoolExecutor(1) as pool:
        with rival.transaction() as tx:
            first = rival.enqueue("note", {"number": 1}, unique=Unique("key", per=per), conn=tx)
            asked = pool.submit(place.app.enqueue, "note", {"number": 2}, unique=Unique("key", per=per))
            wait_until(lambda: waits(place), "the second waits for the first")
        second = asked.result(30)
    assert (first.created, second.created, second.id) == (True, False, first.id)


def test_two_that_find_the_same_key_free_do_not_both_take_it(place: Place) -> None:
    """The first has looked and not yet written when the second comes: what that one saw before it waited is old."""
    place.app.enqueue("note", {"number": 0}, unique=Unique("key")).cancel()
    rival = place.open()
    with place.server.connect(autocommit=False) as conn, ThreadPoolExecutor(1) as pool:
        conn.execute(f"SELECT key FROM {place.schema}.unique_key FOR UPDATE".encode())
        asked = pool.submit(place.app.enqueue, "note", {"number": 2}, unique=Unique("key"))
        wait_until(lambda: waits(place), "the second waits for the first")
        first = rival.enqueue("note", {"number": 1}, unique=Unique("key"), conn=conn)
        conn.commit()
        second = asked.result(30)
    assert (first.created, second.created, second.id) == (True, False, first.id)


def test_who_waited_for_a_key_that_was_given_up_gets_it(place: Place) -> None:
    with place.server.connect(autocommit=False) as conn, ThreadPoolExecutor(1) as pool:
        place.open().enqueue("note", {"number": 1}, unique=Unique("key"), conn=conn)
        asked = pool.submit(place.app.enqueue, "note", {"number": 2}, unique=Unique("key"))
        wait_until(lambda: waits(place), "the second waits for the first")
        conn.rollback()
        assert asked.result(30).created
    assert place.counts["job"] == 1
