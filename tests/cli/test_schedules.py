"""`penstock schedules`: listed, added, paused, changed, removed and run from the command line (S1)."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

import msgspec
import pytest

from penstock import App, Tenant
from penstock.domain.clock import from_us
from penstock.store.contract import ChangeSchedules, ReadSchedules, RegisterWorker, ScheduleChange
from tests.cli.conftest import Call, Shell, run_all
from tests.cli.test_workers import rows

ME = f"{getpass.getuser()}@{os.uname().nodename}"


def add(call: Call, *more: str) -> None:
    outcome = call("schedules", "add", "nightly", "greet", '{"name": "ann"}', "--cron", "0 3 * * *", *more)
    assert outcome.code == 0, outcome.err


def register_worker(app: App) -> None:
    params = RegisterWorker(worker_id="w", host="h", pid=1, version="1", slots=1, stale_after=30, types=("greet",))
    app.store.register_worker(params).wait()


def test_a_schedule_is_added_with_the_options_of_its_job(call: Call, app: App) -> None:
    run_all(app)
    outcome = call(
        "schedules", "add", "nightly", "greet", '{"name": "ann"}', "--cron", "0 3 * * *", "--tz", "Europe/Berlin",
        "--start", "2030-01-31T12:00:00Z", "--end", "2031-01-31T12:00:00Z", "--limit", "5", "--misfire", "skip",
        "--grace", "5m", "--queue", "night", "--priority", "7", "--tenant", "acme/eu", "--tag", "a", "--unique", "k",
    )  # fmt: skip
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("schedule 'nightly' added: 0 3 * * * Europe/Berlin, next in ")
    found = app.schedules.get("nightly")
    assert (found.type, found.payload, found.queue, found.tags) == ("greet", {"name": "ann"}, "night", ("a",))
    assert (found.timezone, found.limit, found.misfire, found.grace) == ("Europe/Berlin", 5, "skip", 300.0)
    assert (found.changed_by, found.declared, str(found.next_at)) == (ME, False, "2030-02-01 02:00:00+00:00")
    job = app.schedules.run("nightly").read()
    assert (job.priority, job.tenant) == (7, Tenant("acme", "eu"))


def test_a_type_that_nobody_declares_is_noted(call: Call, app: App) -> None:
    outcome = call("schedules", "add", "odd", "no_such", "--every", "1h")
    assert outcome.code == 0
    assert "note: no worker has declared the type 'no_such' in this store so far; its jobs wait" in outcome.err


def test_listing(call: Call, app: App) -> None:
    add(call, "--limit", "9")
    call("schedules", "add", "often", "greet", "--every", "90s")
    call("schedules", "pause", "often")
    first, second = rows(call("schedules", "list").out)
    assert (first["name"], first["when"], first["zone"], first["type"]) == ("nightly", "0 3 * * *", "UTC", "greet")
    assert first["next"].startswith("in ")
    assert (first["last"], first["fires"], first["status"]) == ("-", "0/9", "active")
    assert first["note"] == "no live worker takes 'greet': its jobs wait"
    assert (second["when"], second["zone"], second["next"], second["status"], second["note"]) == (
        "every 1m30s", "-", "-", "paused", f"by {ME}",
    )  # fmt: skip


def test_a_live_worker_is_seen(call: Call, app: App) -> None:
    add(call)
    register_worker(app)
    assert call("schedules", "list", "--json").json["schedules"][0]["note"] is None


def test_an_overdue_one_is_seen(call: Call, app: App) -> None:
    add(call)
    (row,) = app.store.read_schedules(ReadSchedules()).wait().schedules
    late = msgspec.structs.replace(row, next_at=row.created_at - 61_000_000)
    app.store.change_schedules(ChangeSchedules([ScheduleChange("nightly", late, row.revision)])).wait()
    due = from_us(row.created_at - 61_000_000).astimezone().isoformat(sep=" ", timespec="seconds")
    told = f"overdue since {due}: no worker leads, see penstock doctor"
    assert call("schedules", "list", "--json").json["schedules"][0]["note"] == told
    assert call("schedules", "show", "nightly", "--json").json["note"] == told
    found = [one for one in call("doctor", "--json").json["findings"] if one["name"] == "schedules"]
    assert [(one["level"], "nightly" in one["message"]) for one in found] == [("warning", True)]
    register_worker(app)
    assert call("schedules", "list", "--json").json["schedules"][0]["note"] == told.replace(
        "no worker leads", "not fired"
    )


def test_an_empty_list_says_what_to_do(call: Call, app: App) -> None:
    assert "use: penstock schedules add" in call("schedules", "list").out


def test_json(call: Call, app: App, tmp_path: Path) -> None:
    add(call, "--json")
    document = call("schedules", "list", "--json").json
    assert document["store"] == str(tmp_path / "jobs.db")
    (one,) = document["schedules"]
    assert (one["name"], one["payload"], one["cron"], one["status"]) == (
        "nightly", {"name": "ann"}, "0 3 * * *", "active",
    )  # fmt: skip
    shown = call("schedules", "show", "nightly", "--json").json
    upcoming = shown.pop("upcoming")
    assert (shown, len(upcoming), upcoming[0]) == (one, 5, one["next_at"])
    assert call("schedules", "pause", "nightly", "--json").json == {"schedules": [{"name": "nightly", "changed": True}]}
    assert call("schedules", "reschedule", "nightly", "--every", "1h", "--json").json["every"] == 3600.0
    assert call("schedules", "run", "nightly", "--json").json["schedule"] == "nightly"


def test_showing(call: Call, app: App) -> None:
    add(call)
    shown = call("schedules", "show", "nightly").out
    for line in ("cron        0 3 * * *", 'payload     {"name":"ann"}', "misfire     once", "grace       1m"):
        assert line in shown
    lines = shown.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("upcoming    "))
    assert [line[:12] for line in lines[first + 1 : first + 6]] == [" " * 12] * 4 + [""]
    assert all(" (in " in line for line in lines[first : first + 5])
    call("schedules", "pause", "nightly")
    assert "upcoming    -\n" in call("schedules", "show", "nightly").out
    assert "its jobs: penstock jobs list --tag schedule:nightly" in shown


def test_pausing_resuming_rescheduling_and_removing(call: Call, app: App) -> None:
    add(call)
    assert call("schedules", "pause", "nightly").out == (
        "schedule 'nightly' paused; to go on: penstock schedules resume nightly\n"
    )
    assert call("schedules", "pause", "nightly").out == "schedule 'nightly' was paused before\n"
    assert app.schedules.get("nightly").status == "paused"
    assert call("schedules", "resume", "nightly").out == "schedule 'nightly' goes on\n"
    assert call("schedules", "resume", "nightly").out == "schedule 'nightly' was not paused\n"
    changed = call("schedules", "reschedule", "nightly", "--every", "2h", "--limit", "3").out
    assert changed.startswith("schedule 'nightly' changed: every 2h, next in 1h, at ")
    call("schedules", "reschedule", "nightly", "--limit", "none")
    assert (app.schedules.get("nightly").every, app.schedules.get("nightly").limit) == (7200.0, None)
    assert call("schedules", "remove", "nightly").out == "schedule 'nightly' is removed\n"
    assert app.schedules.list(removed=True) == []


def test_running_now_prints_the_id(call: Call, app: App) -> None:
    add(call, "--unique", "one")
    job = call("schedules", "run", "nightly").out.strip()
    assert app.get(job).read().tags == ("schedule:nightly",)
    again = call("schedules", "run", "nightly")
    assert (again.out.strip(), again.code) == (job, 0)
    assert "nothing new was stored" in again.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["show", "nigthly"], 1, "no schedule is named 'nigthly' in this store; did you mean 'nightly'?"),
        (["pause", "nightly", "x"], 1, "no schedule is named 'x'"),
        (["resume", "x"], 1, "no schedule is named 'x'"),
        (["remove", "x"], 1, "no schedule is named 'x'"),
        (["run", "x"], 1, "no schedule is named 'x'"),
        (["reschedule", "x", "--every", "1h"], 1, "no schedule is named 'x'"),
        (["reschedule", "nightly"], 2, "what is to be changed of 'nightly'"),
        (["reschedule", "nightly", "--cron", "0 0 30 2 *"], 2, "never fires"),
        (["add", "nightly", "greet", "--every", "1h"], 2, "there is a schedule 'nightly' already"),
        (["add", "new", "greet"], 2, "Give cron= or every="),
        (["add", "new", "greet", "--cron", "0 3 * *"], 2, "wrong number of fields"),
        (["add", "new", "greet", "--every", "1h", "--tz", "Berlin"], 2, "did you mean 'Europe/Berlin'"),
        (["add", "new", "greet", "--every", "1h", "--limit", "many"], 2, "limit='many' is not possible"),
        (["add", "new", "greet", "--every", "1h", "--misfire", "never"], 2, "misfire='never' does not exist"),
        (["add", "new", "greet", "--every", "1h", "--start", "2030-01-01T00:00:00"], 2, "has no time zone"),
        (["add", "new", "greet", "--every", "1h", "--end", "2020-01-01T00:00:00Z"], 2, "would never fire"),
        (["add", "new", "greet", "[1]", "--every", "1h"], 2, "the payload is a JSON array"),
        (["add", "new", "greet", "--every", "1h", "--unique-per", "1h"], 2, "say more of --unique KEY"),
    ],
)
def test_what_is_wrong_is_told_and_changes_nothing(
    call: Call, app: App, words: list[str], code: int, told: str
) -> None:
    add(call)
    before = app.schedules.list()
    outcome = call("schedules", *words)
    assert (outcome.code, told in outcome.err) == (code, True), outcome.err
    assert app.schedules.list() == before


def test_a_store_that_does_not_exist_is_not_made(shell: Shell, tmp_path: Path) -> None:
    outcome = shell.run("schedules", "list", "--store", "sqlite:///none.db")
    assert outcome.code == 1
    assert not (tmp_path / "none.db").exists()


def test_what_people_do_is_audited(call: Call, app: App) -> None:
    add(call)
    for act in ("pause", "resume", "run", "remove"):
        call("schedules", act, "nightly")
    with app.transaction() as tx:
        found = tx.execute("SELECT actor, action, detail ->> '$.schedules[0].name' FROM penstock_audit ORDER BY entry")
    acts = ("add", "pause", "resume", "run", "remove")
    assert found == [(ME, f"schedule {act}", "nightly") for act in acts]
