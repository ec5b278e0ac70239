"""`penstock capacity`: how many workers it takes (O4)."""

from __future__ import annotations

import msgspec
import pytest

from penstock import App
from penstock.domain.figures.series import Count, Figures, Route, Tally
from penstock.store import contract as p
from tests.cli.conftest import Call

MAIL = Route("send_email", "mail", "general")


@pytest.fixture
def counted(app: App) -> App:
    """Five hundred of 72 seconds each wait, and four workers of one slot could take them."""
    for _ in range(500):
        app.enqueue("send_email", {}, queue="mail")
    app.enqueue("film", {}, capability="media")
    known: dict[str, object] = {"host": "h", "pid": 1, "version": "1", "slots": 1, "stale_after": 30.0}
    sessions = [
        app.store.register_worker(p.RegisterWorker(worker_id=f"w{n}", **known)).wait().session  # type: ignore[arg-type]
        for n in range(4)
    ]
    page = p.Page("b", 1, Tally({MAIL: Figures({Count.COMPLETED: 10, Count.FAILED: 2}, 720.0, {100: 10})}))
    app.store.heartbeat_worker(p.HeartbeatWorker(sessions[0], page=page)).wait()
    app.store.fold_figures(p.FoldFigures()).wait()
    found = app.store.count_gauges().wait()
    gauges = [msgspec.structs.replace(one, workers=4, slots=1.0) if one.route == MAIL else one for one in found.gauges]
    app.store.store_sample(p.StoreSample(found.at, 0.01, gauges)).wait()
    return app


def test_a_table_for_people(call: Call, counted: App) -> None:
    done = call("capacity")
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0][:4] == ["type", "queue", "capability", "pending"]
    assert lines[1] == ["film", "default", "media", "1", "0", "0", "0", "0", "-", "0", "-", "-", "-", "-", "-"]
    assert lines[2] == [
        "send_email", "mail", "general", "500", "0", "0", "10", "2", "72", "s", "4", "50", "2h30m", "10", "3", "2",
    ]  # fmt: skip
    assert done.out.splitlines()[-1].startswith("as of ")


def test_one_document_for_programs(call: Call, counted: App) -> None:
    document = call("capacity", "send_email", "--json").json
    [row] = document["capacity"]
    assert (row["pending"], row["workers_for_1_hour"], row["workers_for_4_hours"], row["workers_for_8_hours"]) == (
        500, 10, 3, 2,
    )  # fmt: skip
    assert (row["completed_last_hour"], row["failed_last_hour"], row["active_workers"]) == (10, 2, 4)
    assert row["by"] is None
    assert document["sampled_at"] == row["sampled_at"]


def test_by_a_time_of_day(call: Call, counted: App) -> None:
    done = call("capacity", "send_email", "--by", "08:00")
    assert done.code == 0
    assert "by then" in done.out
    assert "to be done by" in done.out
    [row] = call("capacity", "send_email", "--by", "08:00", "--json").json["capacity"]
    assert 1 <= row["workers_by"] <= 600_000
    assert "T08:00:00" in row["by"]


@pytest.mark.parametrize(("by", "why"), [("25:00", "write it like 08:00"), ("2020-01-01T00:00:00Z", "is past")])
def test_a_time_that_is_none_is_an_error(call: Call, counted: App, by: str, why: str) -> None:
    done = call("capacity", "--by", by)
    assert done.code == 2
    assert why in done.err


def test_a_type_that_nobody_knows_is_said(call: Call, counted: App) -> None:
    done = call("capacity", "nothing")
    assert done.code == 1
    assert "there were no jobs of type 'nothing' when they were counted, 0s ago" in done.err
    assert "did you mean 'send_email'?" in call("capacity", "send_mail").err


def test_whoever_works_is_looked_at_now(call: Call, counted: App) -> None:
    """The last worker has gone, and nobody has counted since."""
    for worker in counted.store.list_workers().wait():
        counted.store.heartbeat_worker(p.HeartbeatWorker(worker.session, "inactive")).wait()
    [row] = call("capacity", "send_email", "--json").json["capacity"]
    assert (row["active_workers"], row["hours_to_drain"], row["workers_for_1_hour"]) == (0, None, 10)


def test_that_nobody_counts_any_more_is_said(call: Call, counted: App) -> None:
    assert "nobody leads" not in call("capacity").err
    now = counted.store.read_clock().wait()
    counted.store.store_sample(p.StoreSample(now - 120_000_000, 0.01, ())).wait()
    done = call("capacity")
    assert (done.code, "2m ago" in done.out) == (0, True)
    assert "nobody leads: start a worker, or without one: penstock coordinator" in done.err


def test_before_the_first_sample_it_says_what_to_do(call: Call, app: App) -> None:
    app.enqueue("task", {})
    done = call("capacity")
    assert done.code == 1
    assert "penstock coordinator" in done.err
    assert call("capacity", "--json").json == {"capacity": [], "sampled_at": None}
