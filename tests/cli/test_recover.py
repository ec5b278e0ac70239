"""`penstock recover`: on request, with a threshold, answering ids and count (A2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from penstock import App, State
from penstock.store.contract import ClaimJobs, RegisterWorker
from tests.cli.conftest import Call


@pytest.fixture
def held(app: App, tmp_path: Path) -> list[str]:
    """Jobs of a worker that was last heard of 15 minutes ago."""
    jobs = [app.enqueue("task", {"number": number}).id for number in range(3)]
    known: dict[str, Any] = {"host": "h", "pid": 1, "version": "1", "slots": 5, "stale_after": 30.0}
    session = app.store.register_worker(RegisterWorker(worker_id="gone", **known)).wait().session
    assert len(app.store.claim_jobs(ClaimJobs(session, 5)).wait().jobs) == 3
    db = apsw.Connection(str(tmp_path / "jobs.db"))
    db.execute("UPDATE penstock_worker SET heartbeat_at = heartbeat_at - 900000000")
    db.close()
    return jobs


def test_the_ids_are_printed_and_counted(call: Call, app: App, held: list[str]) -> None:
    done = call("recover")
    assert done.code == 0
    assert done.out.split() == held
    assert "3 jobs of 1 lost worker recovered: gone" in done.err
    assert all(app.get(job).state() is State.SCHEDULED for job in held)
    assert app.get(held[0]).read().crashes == 1
    again = call("recover")
    assert (again.code, again.out) == (0, "")
    assert "nothing to recover: no worker that holds jobs was silent for 10m" in again.err


def test_as_json(call: Call, held: list[str]) -> None:
    document = call("recover", "--json").json
    assert document == {"recovered": 3, "jobs": held, "workers": ["gone"]}


def test_the_threshold_decides(call: Call, app: App, held: list[str]) -> None:
    assert call("recover", "--threshold", "20m", "--json").json["recovered"] == 0
    assert app.get(held[0]).state() is State.CLAIMED
    assert call("recover", "--threshold", "14m", "--json").json["recovered"] == 3


def test_every_act_is_audited(call: Call, app: App, held: list[str]) -> None:
    call("recover")
    with app.transaction() as tx:
        assert tx.execute("SELECT actor, action FROM penstock_audit") == [("operator", "recover")]


def test_a_bad_threshold_names_the_fix(call: Call, held: list[str]) -> None:
    done = call("recover", "--threshold", "soon")
    assert done.code == 2
    assert "--threshold" in done.err
