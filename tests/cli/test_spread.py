"""`penstock spread`: payloads from a file or stdin, once in a period, and errors that name the line."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from penstock import App, State, Tenant
from penstock.store.contract import ListJobs
from tests.cli.conftest import Call, Shell


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_text('{"name": "ada"}\n\n{"name": "line\u2028break"}\n{"name": "eve"}\n', encoding="utf-8")
    return path


def test_every_item_in_every_batch(call: Call, app: App, items: Path) -> None:
    arguments = ["spread", "hello", "greet", "--items", str(items), "--batches", "6", "--mode", "each"]
    outcome = call(*arguments, "--start", "2090-01-31T12:00:00Z")
    assert (outcome.code, outcome.out) == (0, "18 jobs enqueued\n")
    jobs = app.store.list_jobs(ListJobs(limit=100)).wait()
    assert {job.payload["name"] for job in jobs} == {"ada", "line\u2028break", "eve"}
    first = min(job.due_at for job in jobs)
    assert first.isoformat() == "2090-01-31T12:00:00+00:00"
    assert {job.due_at - first for job in jobs} == {timedelta(hours=4 * batch) for batch in range(6)}
    again = call(*arguments, "--start", "2090-01-31T23:00:00Z")
    assert (again.code, again.out) == (0, "0 jobs enqueued\n")
    assert "note: hello was spread before in this period; nothing new was stored" in again.err


def test_options_reach_the_jobs_and_json_is_one_document(call: Call, app: App, items: Path) -> None:
    options = ["--period", "8h", "--queue", "mail", "--priority", "7", "--tenant", "acme/eu", "--tag", "a",
               "--tag", "b", "--attempts", "9", "--timeout", "9s", "--ttl", "1h", "--capability", "media"]  # fmt: skip
    outcome = call("spread", "hello", "greet", "--items", str(items), *options, "--json")
    assert outcome.json == {"name": "hello", "type": "greet", "items": 3, "enqueued": 3, "type_known": False}
    jobs = app.store.list_jobs(ListJobs()).wait()
    assert {(job.queue, job.priority, job.tenant, job.tags, job.max_attempts, job.capability) for job in jobs} == {
        ("mail", 7, Tenant("acme", "eu"), ("a", "b"), 9, "media")
    }
    assert sorted(job.state for job in jobs) == [State.PENDING, State.SCHEDULED, State.SCHEDULED]


def test_items_from_stdin_and_none_at_all(shell: Shell, app: App) -> None:
    where = {"PENSTOCK_STORE": "sqlite:///jobs.db"}
    outcome = shell.run("spread", "hello", "greet", "--items", "-", stdin='{"name": "a"}\n{"name": "b"}', env=where)
    assert outcome.out == "2 jobs enqueued\n"
    outcome = shell.run("spread", "none", "greet", "--items", "-", stdin="\n", env=where)
    assert (outcome.code, outcome.out) == (0, "0 jobs enqueued\n")
    assert "note: there are no items" in outcome.err


def test_a_byte_order_mark_is_no_part_of_the_first_item(call: Call, shell: Shell, app: App, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"name": "ada"}\n', encoding="utf-8-sig")
    assert call("spread", "file", "greet", "--items", str(path)).out == "1 job enqueued\n"
    where = {"PENSTOCK_STORE": "sqlite:///jobs.db"}
    outcome = shell.run("spread", "stdin", "greet", "--items", "-", stdin='\ufeff{"name": "eve"}', env=where)
    assert outcome.out == "1 job enqueued\n"


def test_a_type_that_is_no_name_is_not_blamed_on_the_file(call: Call, app: App, items: Path) -> None:
    outcome = call("spread", "hello", "two words", "--items", str(items))
    assert (outcome.code, "error: job name='two words' is not a usable name" in outcome.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--items", "nowhere.jsonl"], "--items nowhere.jsonl cannot be read: No such file or directory; give a file"),
        (["--items", "."], "--items . cannot be read: Is a directory"),
        (["--items", "bad.jsonl"], "line 2 of bad.jsonl: the payload is not JSON"),
        (["--items", "bad.jsonl"], 'write one on each line, such as {"store_id": 7}'),
        (["--items", "list.jsonl"], "line 1 of list.jsonl: the payload is a JSON array"),
        (["--items", "bytes.jsonl"], "--items bytes.jsonl cannot be read: it is not text in UTF-8"),
        (["--items", "good.jsonl", "--mode", "every"], "mode='every' does not exist; use one of: once, each"),
        (["--items", "good.jsonl", "--mode", "each"], "say how many, such as batches=6"),
        (["--items", "good.jsonl", "--batches", "0"], "batches=0 is not possible"),
        (["--items", "good.jsonl", "--period", "0s"], "period='0s' is not possible"),
        (["--items", "good.jsonl", "--period", "daily"], "period='daily' is not a duration"),
        (["--items", "good.jsonl", "--start", "2030-01-01T00:00:00"], "has no time zone"),
        (["--items", "good.jsonl", "--priority", "1000"], "error: priority=1000 is not possible"),
        (["--items", "good.jsonl", "--queue", "two words"], "error: queue='two words' is not a usable name"),
        (
            ["--items", "many.jsonl", "--mode", "each", "--batches", "10000"],
            "error: the spread 'hello' would be 1,010,000",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_fix(
    call: Call, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.jsonl").write_text('{"name": "ada"}\n')
    (tmp_path / "bad.jsonl").write_text('{"name": "ada"}\n{"name": }\n')
    (tmp_path / "many.jsonl").write_text("not even JSON\n" * 101)
    (tmp_path / "list.jsonl").write_text("[1]\n")
    (tmp_path / "bytes.jsonl").write_bytes(b'{"name": "\xff"}\n')
    outcome = call("spread", "hello", "greet", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert app.store.list_jobs(ListJobs()).wait() == []


def test_a_name_and_items_are_needed(call: Call, app: App, items: Path) -> None:
    assert "usable name" in call("spread", "two words", "greet", "--items", str(items)).err
    missing = call("spread", "hello", "greet")
    assert missing.code == 2
    assert "--items" in missing.err
