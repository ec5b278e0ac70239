"""Calls from places where they cannot work, and options that cannot be: refused with the fix, storing nothing."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock import App, ConfigError, State, UsageError
from tests.e2e.processes import Processes, counts


def test_enqueueing_in_a_forked_child_is_refused_and_the_parent_goes_on(app: App, processes: Processes) -> None:
    process = processes.script(
        """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)

        @app.job
        async def note(number: int) -> None: ...

        note.enqueue(1)
        child = os.fork()
        if child == 0:
            try:
                note.enqueue(2)
            except penstock.StoreForked as error:
                say("refused:", error)
            fresh = App(sys.argv[1])
            fresh.enqueue("note", {"number": 3})
            fresh.close()
            os._exit(0)
        os.waitpid(child, 0)
        note.enqueue(4)
        app.close()
        """
    )
    assert process.wait() == 0, process.output
    refused = process.wait_for("refused:")
    assert "opened before a fork" in refused
    assert "make the App in the child" in refused
    assert counts(app) == {State.PENDING: 3}


def test_plain_calls_inside_a_running_loop_name_the_async_ones(app: App) -> None:
    @app.job
    async def note(number: int) -> None: ...

    stored = note.enqueue(1)

    async def main() -> None:
        calls: dict[str, Any] = {
            "aenqueue": lambda: note.enqueue(2),
            "aenqueue_many": lambda: app.enqueue_many([note.bind(2)]),
            "atransaction": app.transaction,
            "aget": lambda: app.get(stored.id),
            "aresult": lambda: stored.result(timeout=1),
            "astate": stored.state,
            "aread": stored.read,
            "acancel": stored.cancel,
        }
        for instead, call in calls.items():
            with pytest.raises(UsageError, match=rf"running event loop.*use `await {instead}\(\)`"):
                call()
        with pytest.raises(UsageError, match="aenqueue"):
            app.enqueue("note", {"number": 2})
        await note.aenqueue(3)

    asyncio.run(main())
    assert counts(app) == {State.PENDING: 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": datetime(2030, 1, 1)}, "has no time zone: use an aware datetime"),  # noqa: DTZ001
        ({"at": datetime(9999, 12, 31, tzinfo=UTC)}, "too far away: the last year allowed is 9000"),
        ({"at": "tomorrow"}, "not a time: use an aware datetime, or delay="),
        ({"delay": -1}, "zero or more"),
        ({"delay": timedelta(seconds=-1)}, "zero or more"),
        ({"delay": float("nan")}, "zero or more and finite"),
        ({"delay": 8000 * 366 * 86400}, "at most 100 years"),
        ({"delay": "soon"}, "write it like '100ms'"),
        ({"delay": "1s", "at": datetime(2030, 1, 1, tzinfo=UTC)}, "exclude each other"),
        ({"attempts": 0}, "a whole number from 1 to"),
        ({"priority": 101}, "from -100 to 100"),
        ({"timeout": 0}, "more than zero, or None"),
        ({"atempts": 1}, "the options of a job are: .*attempts"),
        ({"id": "mine"}, "uuid.uuid5"),
    ],
)
def test_options_that_cannot_be_are_refused(app: App, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        app.enqueue("note", {"number": 1}, **options)
    assert counts(app) == {}


def test_a_moment_in_the_past_means_now(app: App) -> None:
    job = app.enqueue("note", {"number": 1}, at=datetime(2001, 1, 1, tzinfo=UTC))
    assert job.state() is State.PENDING


def test_an_enqueue_repeated_with_its_id_makes_one_job(app: App) -> None:
    first = app.enqueue("note", {"number": 1})
    again = app.enqueue("note", {"number": 1}, id=first.id)
    assert (again.id, again.created) == (first.id, False)
    assert counts(app) == {State.PENDING: 1}
