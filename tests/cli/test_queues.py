"""`penstock queues`: what waits and runs in each, pausing, resuming, and waiting until one is drained (L5)."""

from __future__ import annotations

import getpass
import os
import signal
from pathlib import Path

import apsw
import pytest

from penstock import App
from penstock.store.contract import RegisterWorker
from tests.cli.conftest import Call, Shell, run_all
from tests.cli.life import Life
from tests.cli.test_watch import Terminal
from tests.cli.test_workers import rows

STORE = ("--store", "sqlite:///jobs.db")


def pauses(app: App) -> list[tuple[str, str, str | None]]:
    return [(pause.kind, pause.name, pause.reason) for pause in app.store.list_pauses().wait()]


# Listing


def test_queues_are_listed_with_what_waits_and_runs_in_them(call: Call, app: App) -> None:
    running = app.enqueue("greet", queue="mail")
    Life(app, running.id)
    app.enqueue("greet", queue="mail")
    app.enqueue("greet", queue="mail", delay="1h")
    app.enqueue("boom", queue="risky")
    call("queues", "pause", "risky", "--reason", "too risky today")
    outcome = call("queues")
    assert rows(outcome.out) == [
        {"queue": "mail", "pending": "1", "blocked": "0", "scheduled": "1", "running": "1", "oldest": "0s ago",
         "paused": "-", "by": "-", "why": "-"},
        {"queue": "risky", "pending": "1", "blocked": "0", "scheduled": "0", "running": "0", "oldest": "0s ago",
         "paused": "0s ago", "by": f"{getpass.getuser()}@{os.uname().nodename}", "why": "too risky today"},
    ]  # fmt: skip
    assert outcome.out.splitlines()[-1].endswith(", 1 paused")


def test_types_are_listed_the_same_way(call: Call, app: App) -> None:
    app.enqueue("greet", queue="mail")
    app.enqueue("greet", queue="rest")
    call("queues", "pause", "greet", "--type")
    (row,) = rows(call("queues", "--type").out)
    assert (row["type"], row["pending"], row["paused"]) == ("greet", "2", "0s ago")
    assert rows(call("queues").out)[0]["paused"] == "-"


def test_json(call: Call, app: App, tmp_path: Path) -> None:
    app.enqueue("greet", queue="mail")
    app.pause_queue("mail", reason="why", by="ann")
    app.pause_queue("later", force=True)
    document = call("queues", "--json").json
    later, mail = document["queues"]
    assert document["store"] == str(tmp_path / "jobs.db")
    assert {name: mail[name] for name in ("name", "pending", "scheduled", "retrying", "running")} == {
        "name": "mail", "pending": 1, "scheduled": 0, "retrying": 0, "running": 0,
    }  # fmt: skip
    assert mail["oldest_due_at"].endswith("Z")
    assert (mail["paused"]["by"], mail["paused"]["reason"]) == ("ann", "why")
    assert (later["name"], later["pending"], later["oldest_due_at"]) == ("later", 0, None)
    assert [one["name"] for one in call("queues", "--type", "--json").json["types"]] == ["greet"]


def test_a_new_store_has_no_queue(call: Call, app: App) -> None:
    assert "there is no queue yet" in call("queues").out
    assert call("queues", "--json").json["queues"] == []


def test_a_missing_store_is_a_failure_with_its_fix(call: Call) -> None:
    for words in (["queues"], ["queues", "pause", "mail"], ["queues", "resume", "mail"], ["queues", "drain", "mail"]):
        outcome = call(*words)
        assert (outcome.code, "penstock migrate" in outcome.err) == (1, True)


# Pausing and resuming


def test_pausing_and_resuming_say_what_they_did(call: Call, app: App) -> None:
    app.enqueue("greet", queue="mail")
    app.enqueue("greet", queue="rest")
    paused = call("queues", "pause", "mail", "rest", "--reason", "the provider is down")
    assert paused.out.splitlines() == [
        f"queue '{name}' is paused: what runs goes on, what waits stays; to go on: penstock queues resume {name}"
        for name in ("mail", "rest")
    ]
    assert pauses(app) == [("queue", "mail", "the provider is down"), ("queue", "rest", "the provider is down")]
    again = call("queues", "pause", "mail")
    assert (again.code, "was paused before, 0s ago by" in again.out) == (0, True)
    assert "the provider is down; nothing was changed" in again.out
    resumed = call("queues", "resume", "mail", "rest")
    assert [line.split(" ago")[0] for line in resumed.out.splitlines()] == [
        f"queue '{name}' goes on; it was paused 0s" for name in ("mail", "rest")
    ]
    assert pauses(app) == []
    assert call("queues", "resume", "mail").out == "queue 'mail' was not paused\n"


def test_types_are_paused_and_resumed(call: Call, app: App) -> None:
    app.enqueue("greet", queue="mail")
    assert "penstock queues resume greet --type" in call("queues", "pause", "greet", "--type").out
    assert pauses(app) == [("type", "greet", None)]
    assert call("queues", "resume", "greet", "--type").code == 0
    assert pauses(app) == []


def test_as_json_both_answer_each_name(call: Call, app: App) -> None:
    app.enqueue("greet", queue="mail")
    (paused,) = call("queues", "pause", "mail", "--reason", "why", "--json").json["paused"]
    assert (paused["name"], paused["changed"], paused["reason"]) == ("mail", True, "why")
    assert call("queues", "pause", "mail", "--json").json["paused"] == [{**paused, "changed": False}]
    (resumed,) = call("queues", "resume", "mail", "--json").json["resumed"]
    assert resumed == paused
    assert call("queues", "resume", "mail", "--json").json["resumed"] == [{"name": "mail", "changed": False}]


def test_it_is_audited(call: Call, app: App, tmp_path: Path) -> None:
    app.enqueue("greet", queue="mail")
    call("queues", "pause", "mail", "--reason", "why")
    call("queues", "pause", "mail")
    call("queues", "resume", "mail")
    db = apsw.Connection(str(tmp_path / "jobs.db"))
    found = db.execute("SELECT actor, action, detail FROM penstock_audit ORDER BY entry").fetchall()
    db.close()
    who = f"{getpass.getuser()}@{os.uname().nodename}"
    assert found == [
        (who, "pause", '{"queue":["mail"],"reason":"why"}'), (who, "resume", '{"queue":["mail"],"reason":null}'),
    ]  # fmt: skip


def test_someone_without_a_name_is_an_operator(call: Call, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise OSError("no username set in the environment")

    monkeypatch.setattr(getpass, "getuser", nameless)
    app.enqueue("greet", queue="mail")
    call("queues", "pause", "mail")
    assert app.store.list_pauses().wait()[0].actor == f"operator@{os.uname().nodename}"


# Wrong words


@pytest.mark.parametrize("act", ["pause", "resume", "drain"])
def test_an_unknown_queue_or_type_is_an_error_that_lists_the_known(call: Call, app: App, act: str) -> None:
    app.enqueue("greet", queue="mail")
    outcome = call("queues", act, "mial")
    assert outcome.code == 1
    assert "no queue is named 'mial' in this store; known are: mail" in outcome.err
    assert "no type is named 'gret' in this store; known are: greet" in call("queues", act, "gret", "--type").err


def test_a_queue_that_is_to_come_is_paused_by_force(call: Call, app: App) -> None:
    assert "--force" in call("queues", "pause", "imports").err
    assert call("queues", "pause", "imports", "--force").code == 0
    assert pauses(app) == [("queue", "imports", None)]


@pytest.mark.parametrize("words", [["queues", "pause"], ["queues", "pause", "two words", "--force"],
                                   ["queues", "drain", "mail", "--timeout", "soon"],
                                   ["queues", "drain", "mail", "--timeout", "0s"], ["queues", "nope"]])  # fmt: skip
def test_wrong_words_are_usage_errors(call: Call, app: App, words: list[str]) -> None:
    assert call(*words).code == 2
    assert pauses(app) == []


@pytest.mark.parametrize("words", [["queues", *STORE, "pause", "mail"], ["queues", "--json", "resume", "mail"],
                                   ["workers", *STORE, "drain", "w"]])  # fmt: skip
def test_an_option_before_the_command_is_refused_rather_than_ignored(call: Call, app: App, words: list[str]) -> None:
    outcome = call(*words)
    assert outcome.code == 2
    assert "options go after the command: penstock" in outcome.err


# Draining a queue


def test_a_drained_queue_is_one_in_which_nothing_waits_or_runs(call: Call, app: App) -> None:
    app.enqueue("greet", queue="mail")
    run_all(app)
    app.enqueue("greet", queue="rest")
    app.enqueue("greet", queue="mail", delay="1h")
    assert call("queues", "drain", "mail").out == "mail: nothing waits or runs; 1 job scheduled for later\n"
    assert call("queues", "drain", "mail", "--json").json == {"drained": True, "left": 0, "scheduled": 1}


def test_it_is_waited_for_what_waits_what_runs_and_what_is_tried_again(shell: Shell, app: App) -> None:
    job = app.enqueue("greet", queue="mail")
    draining = Terminal(shell.folder, "queues", "drain", "mail", *STORE)
    try:
        draining.wait_for("draining")
        life = Life(app, job.id)
        life.fails("not yet", retry_in=3600)
        assert call_left(shell) == 1, "what is tried again later is not drained"
        app.get(job.id).cancel()
        assert draining.end() == 0
    finally:
        draining.close()
    assert "mail: nothing waits or runs" in draining.shown


def call_left(shell: Shell) -> int:
    outcome = shell.run("queues", "drain", "mail", "--timeout", "10ms", "--json", *STORE)
    assert outcome.code == 1
    left: int = outcome.json["left"]
    return left


def test_after_its_timeout_it_fails_and_says_how_many_are_left(call: Call, app: App) -> None:
    for _ in range(3):
        app.enqueue("greet", queue="mail")
    outcome = call("queues", "drain", "mail", "--timeout", "50ms")
    assert outcome.code == 1
    assert "3 jobs of mail had not ended after 50ms; nothing was changed" in outcome.err


def test_ctrl_c_leaves_everything_as_it_is(shell: Shell, app: App) -> None:
    job = app.enqueue("greet", queue="mail")
    draining = Terminal(shell.folder, "queues", "drain", "mail", *STORE)
    try:
        draining.wait_for("draining")
        draining.process.send_signal(signal.SIGINT)
        assert draining.end() == 130
    finally:
        draining.close()
    assert (job.state().value, pauses(app)) == ("pending", [])


@pytest.mark.parametrize(("pause", "resume"), [(("mail",), "mail"), (("greet", "--type"), "greet --type")])
def test_a_paused_queue_with_jobs_would_never_be_empty(
    call: Call, app: App, pause: tuple[str, ...], resume: str
) -> None:
    app.enqueue("greet", queue="mail")
    call("queues", "pause", *pause)
    outcome = call("queues", "drain", "mail")
    assert outcome.code == 1
    assert f"resume it first: penstock queues resume {resume}" in outcome.err


def test_a_paused_queue_without_jobs_is_drained(call: Call, app: App) -> None:
    app.enqueue("greet", queue="mail").cancel()
    call("queues", "pause", "mail")
    assert call("queues", "drain", "mail").code == 0


def test_a_queue_that_only_a_worker_knows_is_drained(call: Call, app: App) -> None:
    worker = RegisterWorker(
        worker_id="w", host="h", pid=1, version="1", slots=1, stale_after=60.0, queues=("quiet",), types=("still",)
    )
    app.store.register_worker(worker).wait()
    assert call("queues", "drain", "quiet").code == 0
    assert call("queues", "drain", "still", "--type").code == 0


# Elsewhere


def test_a_job_says_that_it_waits_because_it_is_paused(call: Call, app: App) -> None:
    job = app.enqueue("greet", queue="mail")
    assert "paused" not in call("jobs", "show", job.id).out
    app.pause_queue("mail", reason="the provider is down", by="ann")
    app.pause_type("greet", by="bob")
    shown = call("jobs", "show", job.id).out
    assert (
        "it does not run because queue 'mail' has been paused for less than 1s by ann: the provider is down and "
        in (shown)
    )
    assert "type 'greet' has been paused for less than 1s by bob" in shown
    found = call("jobs", "show", job.id, "--json").json["paused"]
    assert [(one["kind"], one["name"], one["by"]) for one in found] == [
        ("queue", "mail", "ann"), ("type", "greet", "bob"),
    ]  # fmt: skip
    job.cancel()
    assert call("jobs", "show", job.id, "--json").json["paused"] == []
    assert "does not run" not in call("jobs", "show", job.id).out
