"""`penstock config`, and what the other commands take from the config."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock import App
from penstock.config.keys import KEYS
from tests.cli.conftest import TASKS, Call, Shell

URL = "sqlite:///jobs.db"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A penstock.toml in the test's folder."""
    path = tmp_path / "penstock.toml"
    path.write_text('store = "sqlite:///jobs.db"\n[worker]\nconcurrency = 5\nqueues = ["default", "mail"]\n')
    return path


# penstock config


def test_every_key_is_shown_with_its_source(shell: Shell, config: Path) -> None:
    outcome = shell.run("config", env={"PENSTOCK_LOG_LEVEL": "debug"})
    assert (outcome.code, outcome.err) == (0, "")
    shown = {line.split()[0]: line.split()[1:] for line in outcome.out.splitlines() if line}
    assert [key.name for key in KEYS if key.name not in shown] == []
    assert shown["store"] == [URL, "penstock.toml"]
    assert shown["worker.queues"] == ["default,", "mail", "penstock.toml"]
    assert shown["worker.poll_interval"] == ["100ms", "default"]
    assert shown["log.level"] == ["debug", "PENSTOCK_LOG_LEVEL"]
    assert f"config file: {config}" in outcome.out


def test_without_a_file_it_says_so(shell: Shell) -> None:
    assert "there is no penstock.toml in the current folder" in shell.run("config").out


def test_as_json_in_plain_units(shell: Shell, config: Path) -> None:
    document = shell.run("config", "--json", env={"PENSTOCK_WORKER_MAX_MEMORY": "1Gi"}).json
    assert document["file"] == str(config)
    assert document["settings"]["worker.concurrency"] == {"value": 5, "source": str(config)}
    assert document["settings"]["worker.max_memory"] == {"value": 2**30, "source": "PENSTOCK_WORKER_MAX_MEMORY"}
    assert document["settings"]["worker.poll_interval"] == {"value": 0.1, "source": "default"}
    assert document["settings"]["worker.types"] == {"value": None, "source": "default"}
    assert list(document["settings"]) == [key.name for key in KEYS]


def test_one_key_with_its_meaning_and_where_to_set_it(shell: Shell, config: Path) -> None:
    out = shell.run("config", "worker.concurrency").out
    for words in ("Jobs at once", "5", str(config), "50", "whole number", "under [worker]",
                  "PENSTOCK_WORKER_CONCURRENCY", "--concurrency"):  # fmt: skip
        assert words in out
    assert shell.run("config", "worker.concurrency", "--json").json["settings"] == {
        "worker.concurrency": {"value": 5, "source": str(config)}
    }


def test_another_file(shell: Shell, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("[worker]\nconcurrency = 6\n")
    for arguments, env in ((["--config", "other.toml"], {}), ([], {"PENSTOCK_CONFIG": "other.toml"})):
        document = shell.run("config", "--json", *arguments, env=env).json
        assert document["file"] == str(other)
        assert document["settings"]["worker.concurrency"]["value"] == 6


@pytest.mark.parametrize(
    ("args", "text", "words"),
    [
        (["worker.concurency"], "", "did you mean worker.concurrency?"),
        (["--config", "gone.toml"], "", "there is no file"),
        ([], "worker = 1", "penstock.toml, line 1: worker=1 is one value here"),
        ([], "store = ", "penstock.toml is not TOML"),
    ],
    ids=str,
)
def test_what_is_wrong_is_a_usage_error_in_one_line(
    shell: Shell, tmp_path: Path, args: list[str], text: str, words: str
) -> None:
    (tmp_path / "penstock.toml").write_text(text)
    outcome = shell.run("config", *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert words in outcome.err


# Commands on a store


def test_the_store_of_the_file_is_used(call: Call, app: App, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_STORE")
    assert call("counts", "--json").json["store"] == app.store.info.address


def test_the_flag_comes_before_the_variable_and_that_before_the_file(call: Call, app: App, config: Path) -> None:
    config.write_text('store = "sqlite:///gone.db"\n')
    assert call("counts").code == 0
    assert "other.db" in call("counts", "--store", "sqlite:///other.db").err


def test_a_wrong_store_in_the_file_is_blamed_on_it(call: Call, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_STORE")
    config.write_text('store = "mysql://me:secret@host/jobs"\n')
    outcome = call("counts")
    assert outcome.code == 2
    assert f"{config}, line 1: store 'mysql://me:***@host/jobs' is not understood" in outcome.err


def test_a_given_store_needs_no_config(call: Call, app: App, config: Path) -> None:
    config.write_text("this is not TOML")
    assert call("counts", "--store", URL).code == 0


# Workers


def test_a_worker_takes_what_the_file_says_and_flags_come_first(shell: Shell, project: Path, config: Path) -> None:
    outcome = shell.run("worker", "tasks:app", "--burst", "--queues", "mail", env={"PENSTOCK_WORKER_ID": "w-7"})
    assert outcome.code == 0
    for shown in (f"config        {config}", "slots         5", "queues        mail\n", "worker w-7"):
        assert shown in outcome.out


@pytest.mark.parametrize("command", ["worker", "start"])
def test_logs_as_json_are_nothing_but_json(shell: Shell, project: Path, command: str) -> None:
    outcome = shell.run(command, "tasks:app", "--burst", "--log-format", "json", "--log-level", "debug")
    assert outcome.code == 0
    assert all(isinstance(json.loads(line), dict) for line in outcome.out.splitlines())
    assert "started" in outcome.out


def test_an_app_from_the_config_with_flags_on_top(shell: Shell, project: Path) -> None:
    (project / "tasks.py").write_text(TASKS.replace('App("sqlite:///jobs.db")', "App.from_config()"))
    (project / "other.toml").write_text('store = "sqlite:///other.db"\n[worker]\nconcurrency = 5\nid = "from-file"\n')
    outcome = shell.run("worker", "tasks:app", "--burst", "--concurrency", "6", "--config", "other.toml")
    assert outcome.code == 0, outcome.err
    for shown in (f"store         {project / 'other.db'}", "slots         6", "worker from-file"):
        assert shown in outcome.out


def test_an_app_brings_its_own_config(shell: Shell, project: Path, config: Path) -> None:
    (project / "tasks.py").write_text(TASKS.replace('App("sqlite:///jobs.db")', 'App.from_config("own.toml")'))
    (project / "own.toml").write_text('store = "sqlite:///own.db"\n[worker]\nconcurrency = 9\n')
    outcome = shell.run("worker", "tasks:app", "--burst")
    assert outcome.code == 0, outcome.err
    assert "slots         9" in outcome.out
    assert f"config        {project / 'own.toml'}" in outcome.out
    refused = shell.run("worker", "tasks:app", "--burst", "--config", str(config))
    assert refused.code == 2
    assert f"tasks:app reads {project / 'own.toml'} itself" in refused.err


def test_history_of_the_config_is_for_apps_without_their_own(shell: Shell, project: Path) -> None:
    (project / "penstock.toml").write_text(f'store = "{URL}"\nhistory = "failures"\n')
    kept = TASKS.replace('App("sqlite:///jobs.db")', 'App("sqlite:///jobs.db", history="default")')
    (project / "kept.py").write_text(kept)
    shell.run("migrate")
    for target, total in (("tasks:app", 0), ("kept:app", 1)):
        shell.run("enqueue", "greet", '{"name": "you"}')
        assert shell.run("worker", target, "--burst").code == 0
        assert shell.run("counts", "--json").json["total"] == total


def test_a_time_to_live_that_the_app_cannot_use_is_said(shell: Shell, project: Path) -> None:
    outcome = shell.run("worker", "tasks:app", "--burst", env={"PENSTOCK_QUEUE_TTL": "1h"})
    assert outcome.code == 0
    assert "note: queue.ttl is for an App.from_config()" in outcome.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--processes", "0"], "--processes: worker.processes=0"),
        (["--max-memory", "8gb"], "--max-memory: worker.max_memory='8gb' is not a size"),
        (["--max-jobs", "few"], "--max-jobs: worker.max_jobs='few'"),
        (["--cpu", "-1"], "--cpu: worker.resources.cpu='-1'"),
        (["--job-timeout", "0s"], "--job-timeout: worker.job_timeout='0s'"),
        (["--log-format", "xml"], "--log-format: log.format='xml' does not exist; use one of: text, json"),
        (["--config", "gone.toml"], "there is no file"),
    ],
    ids=str,
)
def test_wrong_flags_are_usage_errors_that_name_them(call: Call, args: list[str], words: str) -> None:
    outcome = call("worker", "tasks:app", "--burst", *args)
    assert outcome.code == 2
    assert words in outcome.err


# Under a supervisor


@pytest.fixture
def supervised(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every call of the supervisor, which ends at once with 7."""
    calls: list[dict[str, Any]] = []

    def supervise(command: list[str], **rest: Any) -> int:
        calls.append({"command": command, **rest})
        return 7

    monkeypatch.setattr("penstock.supervisor.supervise", supervise)
    monkeypatch.setattr("penstock.observe.logs.configure", lambda *args, **kwargs: None)
    monkeypatch.setattr("penstock.worker.settings.cores", lambda: 8)
    return calls


@pytest.mark.parametrize(
    ("args", "processes", "reload"),
    [
        (["--processes", "3"], 3, False),
        (["--reload"], 1, True),
        (["--max-jobs", "1000"], 1, False),
        (["--max-memory", "1Gi"], 1, False),
    ],
    ids=str,
)
def test_what_needs_a_process_above_gets_one(
    call: Call, supervised: list[dict[str, Any]], args: list[str], processes: int, reload: bool
) -> None:
    outcome = call("worker", "tasks:app", *args, "--shutdown-timeout", "5s")
    assert outcome.code == 7, outcome.err
    assert [(c["processes"], c["reload"], c["burst"], c["shutdown_timeout"], c["worker_id"]) for c in supervised] == [
        (processes, reload, False, 5.0, None)
    ]


def test_the_command_of_one_process(call: Call, supervised: list[dict[str, Any]], config: Path) -> None:
    config.write_text('[worker]\nprocesses = 3\nid = "named"\n')
    assert call("worker", "tasks:app", "--queues", "a,b", "--id", "mine", "--burst", "--log-format", "json").code == 7
    assert supervised[0]["command"][1:] == [
        "-m", "penstock", "worker", "tasks:app", "--queues=a,b", "--process-slots=2", "--log-format=json", "--burst"
    ]  # fmt: skip
    assert (supervised[0]["processes"], supervised[0]["worker_id"], supervised[0]["burst"]) == (3, "mine", True)


def test_slots_for_processes_that_are_given_stay(call: Call, supervised: list[dict[str, Any]]) -> None:
    assert call("worker", "tasks:app", "--processes", "16", "--process-slots", "4").code == 7
    assert call("worker", "tasks:app", "--processes", "16").code == 7
    assert "--process-slots=4" in supervised[0]["command"]
    assert "--process-slots=1" in supervised[1]["command"]


def test_start_is_supervised_as_start(call: Call, supervised: list[dict[str, Any]], config: Path) -> None:
    config.write_text("[worker]\nmax_jobs = 10\n")
    assert call("start", "tasks:app", "--reload").code == 7
    assert supervised[0]["command"][1:] == ["-m", "penstock", "start", "tasks:app"]


def test_a_worker_with_a_limit_on_its_jobs_is_replaced_until_all_are_done(shell: Shell, project: Path) -> None:
    app = App(f"sqlite:///{project}/jobs.db")
    jobs = [app.enqueue("greet", {"name": str(number)}) for number in range(3)]
    outcome = shell.run("worker", "tasks:app", "--burst", "--concurrency", "1", "--max-jobs", "2", "--id", "w")
    assert outcome.code == 0, outcome.err
    assert [job.result(timeout=1) for job in jobs] == ["hello 0", "hello 1", "hello 2"]
    assert "exit code 75" in outcome.out
    assert outcome.out.count("worker w-1-") >= 4  # two processes, started and stopped
    app.close()
