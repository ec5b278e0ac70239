from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import App, Concurrency, Snooze, State, Tenant
from tests.cli.conftest import Call, Shell, run_all
from tests.cli.life import Life

UNKNOWN = "01980000-0000-7000-8000-000000000000"
STORE = ("--store", "sqlite:///jobs.db")


def test_the_list_is_newest_first_and_goes_on_page_by_page(call: Call, app: App) -> None:
    ids = [app.enqueue("greet", {"name": str(number)}).id for number in range(5)]
    first = call("jobs", "list", "--limit", "3", "--json").json
    assert [job["id"] for job in first["jobs"]] == ids[:1:-1]
    second = call("jobs", "list", "--limit", "3", "--before", first["next"], "--json").json
    assert [job["id"] for job in second["jobs"]] == ids[1::-1]
    assert second["next"] is None
    assert second["store"] == app.store.info.address


def test_filters_narrow_the_list(call: Call, app: App) -> None:
    wanted = app.enqueue("greet", {}, queue="mail", tenant=Tenant("acme", "eu"), tags=["red"]).id
    app.enqueue("boom", {}, delay="1h", tenant=Tenant("other"))
    for option in (["--type", "greet"], ["--queue", "mail"], ["--tenant", "acme"], ["--tenant", "acme/eu"],
                   ["--tag", "red"], ["--state", "pending"], ["--state", "waiting, running"]):  # fmt: skip
        assert [job["id"] for job in call("jobs", "list", *option, "--json").json["jobs"]] == [wanted], option
    assert len(call("jobs", "list", "--state", "pending,delayed", "--json").json["jobs"]) == 2


def test_jobs_with_a_key(call: Call, app: App) -> None:
    @app.job(limit=Concurrency("store:{store}", 1))
    def sync(store: int) -> None: ...

    first, second = (handle.id for handle in app.enqueue_many(sync.bind(5) for _ in range(2)))
    sync.enqueue(6)
    found = call("jobs", "list", "--key", "store:5", "--json").json
    assert [job["id"] for job in found["jobs"]] == [second, first]
    whole = call("jobs", "list", "--key", "store:5").out
    assert whole.endswith(f"2 jobs in {app.store.info.address}\n")
    empty = call("jobs", "list", "--key", "")
    assert (empty.code, empty.out, "--key is empty" in empty.err) == (2, "", True)
    blocked = call("jobs", "list", "--key", "store:5", "--state", "blocked")
    assert second in blocked.out
    assert first not in blocked.out
    assert blocked.out.endswith(f"1 job in {app.store.info.address}; of the 10,000 newest with this key\n")


def test_the_last_that_ended_first(call: Call, app: App) -> None:
    last, first = (app.enqueue("greet", {"name": "x"}, delay=delay).id for delay in ("1h", None))
    for one in (first, last):
        call("jobs", "cancel", one)
    app.enqueue("greet", {})
    found = call("jobs", "list", "--sort", "finished", "--limit", "1", "--json").json
    assert ([job["id"] for job in found["jobs"]], found["next"]) == ([last], last)
    second = call("jobs", "list", "--sort", "finished", "--before", last, "--json").json
    assert [job["id"] for job in second["jobs"]] == [first]
    assert "of the 10,000 last of each state" in call("jobs", "list", "--sort", "finished", "--type", "greet").out
    refused = call("jobs", "list", "--sort", "finished", "--state", "pending")
    assert (refused.code, "leave one of them out" in refused.err) == (2, True)


def test_what_is_no_id_says_how_one_looks_and_how_to_find_it(call: Call, app: App) -> None:
    said = call("jobs", "show", "1").err
    assert "one looks like 0198c0de-0000-7000-8000-000000000000; penstock jobs list shows them" in said
    assert "uuid" not in said


def test_the_table_never_folds_an_id_and_names_the_file(shell: Shell, app: App) -> None:
    job = app.enqueue("greet", {}, queue="a-queue-with-quite-a-long-name" * 4)
    plain = shell.run("jobs", "list", *STORE).out
    assert job.id in plain.splitlines()[1]
    assert "\x1b" not in plain
    assert f"1 job in {app.store.info.address}" in plain
    assert job.id in shell.run_on_terminal("jobs", "list", *STORE).out


def test_an_empty_list_says_so(call: Call, app: App) -> None:
    assert call("jobs", "list").out == f"0 jobs in {app.store.info.address}\n"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["list", "--state", "sleeping"], "'sleeping' does not exist"),
        (["list", "--limit", "0"], "--limit"),
        (["list", "--before", "yesterday"], "not a job id"),
        (["show", "7"], "not a job id"),
        (["cancel", "7"], "not a job id"),
        (["retry", "7"], "not a job id"),
        (["watch", "7"], "not a job id"),
    ],
    ids=str,
)
def test_wrong_words_are_usage_errors(call: Call, app: App, args: list[str], words: str) -> None:
    outcome = call("jobs", *args)
    assert outcome.code == 2
    assert words in outcome.err


@pytest.mark.parametrize("command", ["show", "cancel", "retry", "watch"])
def test_an_unknown_id_is_a_failure_in_one_line(call: Call, app: App, command: str) -> None:
    outcome = call("jobs", command, UNKNOWN)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: ")
    assert UNKNOWN in outcome.err


def test_show_tells_everything(call: Call, app: App) -> None:
    job = app.enqueue("boom", {"what": "bad \x1b[31m thing"}, tenant=Tenant("acme", "eu"), tags=["red"], priority=3)
    run_all(app)
    shown = call("jobs", "show", job.id).out
    fields = dict(line.split(None, 1) for line in shown.split("\npayload\n")[0].splitlines() if " " in line)
    assert (fields["state"], fields["tenant"], fields["tags"], fields["priority"]) == ("dead", "acme/eu", "red", "3")
    assert set(job.read().__struct_fields__) - {"payload", "result", "error"} <= set(fields)
    assert "ValueError: bad \\x1b[31m thing" in shown
    assert "raise ValueError(what)" in shown
    assert "\x1b" not in shown
    told = call("jobs", "show", job.id, "--json").json
    assert told["error"]["type"].endswith("ValueError")
    assert told["payload"] == {"what": "bad \x1b[31m thing"}
    assert "history" in told


def test_show_tells_how_often_a_job_was_put_off_and_until_when(call: Call, app: App) -> None:
    @app.job(snoozes=7)
    async def poll() -> None:
        raise Snooze("1h", "bad \x1b[31m luck")

    job = poll.enqueue()
    run_all(app)
    shown = call("jobs", "show", job.id).out
    assert [line.split() for line in shown.splitlines() if line.startswith(("snoozes", "attempt"))] == [
        ["attempt", "0"],
        ["snoozes", "1"],
    ]
    history = " ".join(shown.split("\nhistory\n")[1].split())
    assert "snoozed until 2" in history
    assert "(1 of 7): bad \\x1b[31m luck" in history
    told = call("jobs", "show", job.id, "--json").json
    assert told["snoozes"] == 1
    assert told["history"][0]["event"] == "snooze"


def test_progress_is_shown_and_noted(call: Call, app: App) -> None:
    life = Life(app, app.enqueue("greet", {"name": "x"}).id)
    for said, shown, noted in (
        ('{"percent":12.5,"phase":"reading"}', "12.5 % reading", "12.5 % reading"),
        ('{"phase":"connecting"}', "connecting", "connecting"),
        ('{"percent":0}', "0 %", "0 %"),
        ('{"percent":40,"data":{"rows":[1,2]}}', '40 % {"rows":[1,2]}', "40 %"),
        ('{"data":{"rows":3}}', '{"rows":3}', '{"rows":3}'),
        ('{"phase":"a\\u001b[31m\\nb"}', "a\\x1b[31m b", "a\\x1b[31m b"),
    ):
        life.says(said)
        lines = call("jobs", "show", life.job_id).out.splitlines()
        (line,) = [line for line in lines if line.startswith("progress ")]
        assert line.split(None, 1)[1] == shown
        assert call("jobs", "list").out.splitlines()[1].rstrip().endswith(noted)
    told = call("jobs", "show", life.job_id, "--json").json
    assert told["progress"] == {"phase": "a\x1b[31m\nb"}


def test_the_note_of_another_try_is_its_progress_and_not_the_last_error(call: Call, app: App) -> None:
    life = Life(app, app.enqueue("greet", {"name": "x"}).id)
    life.fails("the first")
    assert "ValueError: the first" in call("jobs", "list").out
    life.begins()
    life.says('{"percent":40}')
    assert call("jobs", "list").out.splitlines()[1].rstrip().endswith("40 %")


def test_show_tells_the_history_of_a_retried_job(call: Call, app: App, dead: Callable[[int], list[str]]) -> None:
    (job_id,) = dead(1)
    call("jobs", "retry", job_id)
    shown = call("jobs", "show", job_id).out
    assert "\nhistory\n" in shown
    assert "retried" in shown.split("\nhistory\n")[1]


def test_a_waiting_job_is_cancelled_at_once(call: Call, app: App) -> None:
    job = app.enqueue("greet", {})
    outcome = call("jobs", "cancel", job.id)
    assert outcome.code == 0
    assert "cancelled at once" in outcome.out
    assert job.state() is State.CANCELLED
    other = app.enqueue("greet", {}, delay="1h")
    told = call("jobs", "cancel", other.id, "--json").json
    assert told == {"id": other.id, "before": "scheduled", "after": "cancelled", "asked_to_stop": False}


def test_an_ended_job_cannot_be_cancelled(call: Call, app: App) -> None:
    job = app.enqueue("greet", {"name": "x"})
    run_all(app)
    outcome = call("jobs", "cancel", job.id)
    assert outcome.code == 1
    assert "completed already" in outcome.err


def test_a_running_job_is_asked_to_stop_and_watch_sees_it_end(shell: Shell, project: Path) -> None:
    app = App(f"sqlite:///{project}/jobs.db")
    job = app.enqueue("wait_for_file", {"path": str(project / "never")})
    worker = shell.start("worker", "tasks:app")
    watcher = shell.start("jobs", "watch", job.id, *STORE)
    watcher.wait_for("running (attempt 1 of 3) 40 % waiting")
    outcome = shell.run("jobs", "cancel", job.id, *STORE)
    assert outcome.code == 0
    assert (
        "wait_for_file is running: it has begun, so it is asked to stop: an async handler is cancelled" in outcome.out
    )
    assert f"asked to stop: penstock jobs watch {job.id}" in outcome.out
    ended = watcher.end()
    assert ended.code == 1
    assert "cancelled: " in ended.out
    worker.signal(signal.SIGTERM)
    assert worker.end().code == 0
    app.close()


def test_only_dead_jobs_are_retried(call: Call, app: App, dead: Callable[[int], list[str]]) -> None:
    waiting = app.enqueue("greet", {}, delay="1h")
    outcome = call("jobs", "retry", waiting.id)
    assert outcome.code == 1
    assert "is scheduled" in outcome.err
    (job_id,) = dead(1)
    told = call("jobs", "retry", job_id, "--json").json
    assert told["count"] == 1
    assert app.get(told["retried"][0]["new_id"]).read().retried_from == job_id
    again = call("jobs", "retry", job_id)
    assert again.code == 1
    assert "force" in again.err
    assert call("jobs", "retry", job_id, "--force").code == 0
