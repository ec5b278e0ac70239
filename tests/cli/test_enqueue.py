from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from penstock import App, State, Tenant
from penstock.domain.flow.gates import Limit
from tests.cli.conftest import Call, Shell, run_all
from tests.contract.clock import FakeClock
from tests.contract.world import World

OWN_ID = str(uuid.uuid5(uuid.NAMESPACE_DNS, "example.com"))


def test_the_id_is_printed_and_the_job_is_stored(call: Call, app: App) -> None:
    outcome = call("enqueue", "greet", '{"name": "you"}')
    assert outcome.code == 0
    job = app.get(outcome.out.strip()).read()
    assert (job.type, job.payload, job.state) == ("greet", {"name": "you"}, State.PENDING)


def test_every_option_reaches_the_job(call: Call, app: App) -> None:
    options = ["--delay", "5m", "--priority", "7", "--queue", "mail", "--attempts", "9", "--capability", "media",
               "--tenant", "acme/eu", "--tag", "a", "--tag", "b", "--unique", "k-1", "--unique-per", "1h",
               "--unique-scope", "tenant", "--ttl", "1h", "--timeout", "9s",
               "--id", OWN_ID]  # fmt: skip
    assert call("enqueue", "greet", "{}", *options).out.strip() == OWN_ID
    job = app.get(OWN_ID).read()
    assert (job.priority, job.queue, job.max_attempts, job.capability) == (7, "mail", 9, "media")
    assert (job.tenant, job.tags, job.keys, job.state) == (
        Tenant("acme", "eu"),
        ("a", "b"),
        ('tenant "acme": k-1',),
        State.SCHEDULED,
    )


def test_a_moment_with_its_zone_is_kept(call: Call, app: App) -> None:
    job_id = call("enqueue", "greet", "{}", "--at", "2090-01-31T12:00:00+02:00").out.strip()
    assert app.get(job_id).read().due_at.isoformat() == "2090-01-31T10:00:00+00:00"


def test_json_is_one_document_and_an_id_sent_twice_makes_one_job(call: Call, app: App) -> None:
    assert call("enqueue", "greet", "{}", "--id", OWN_ID, "--json").json["created"] is True
    again = call("enqueue", "greet", "{}", "--id", OWN_ID, "--json")
    assert again.json["created"] is False
    assert len(call("jobs", "list", "--json").json["jobs"]) == 1
    assert "stored before" in call("enqueue", "greet", "{}", "--id", OWN_ID).err


def test_a_type_that_no_worker_has_declared_is_noted_beside_the_answer(call: Call, app: App) -> None:
    outcome = call("enqueue", "graet", "{}")
    assert outcome.code == 0
    assert "no worker has declared the type 'graet'" in outcome.err
    assert len(outcome.out.split()) == 1
    app.enqueue("greet", {"name": "first"})
    run_all(app)
    assert call("enqueue", "greet", "{}").err == ""


def test_a_job_that_is_dead_at_once_is_noted(call: Call, app: App) -> None:
    @app.job(no_worker="fail")
    async def hasty() -> None: ...

    run_all(app)
    outcome = call("enqueue", "hasty", "{}")
    assert (outcome.code, outcome.err.splitlines()) == (
        0, ["note: this job is dead: no workers available: no worker is running"],
    )  # fmt: skip
    assert call("enqueue", "hasty", "{}", "--json").json["state"] == "dead"
    assert call("enqueue", "greet", "{}", "--json").json["state"] == "pending"
    [again] = call("dead", "retry", outcome.out.strip(), "--json").json["retried"]
    assert again["state"] == "dead"
    noted = call("dead", "retry", again["new_id"])
    assert (noted.code, noted.err.splitlines()) == (
        0, ["note: the new job ended dead at once: no workers available: no worker is running"],
    )  # fmt: skip


def test_the_nearest_type_is_named_for_one_that_is_not_known(call: Call, app: App) -> None:
    app.enqueue("greet", {"name": "first"})
    run_all(app)
    outcome = call("enqueue", "graet", "{}")
    assert f"did you mean 'greet'? If so, penstock jobs cancel {outcome.out.strip()}" in outcome.err
    assert len(outcome.err.splitlines()) == 1
    told = call("enqueue", "graet", "{}", "--json").json
    assert (told["type_known"], told["nearest_type"]) == (False, "greet")
    far = call("enqueue", "import_orders", "{}")
    assert "the job waits\n" in far.err
    assert call("enqueue", "import_orders", "{}", "--json").json["nearest_type"] is None
    assert "nearest_type" not in call("enqueue", "greet", "{}", "--json").json


def test_the_payload_can_come_from_stdin(shell: Shell, app: App) -> None:
    outcome = shell.run("enqueue", "greet", "-", stdin='{"name": "pipe"}', env={"PENSTOCK_STORE": "sqlite:///jobs.db"})
    assert app.get(outcome.out.strip()).read().payload == {"name": "pipe"}


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ('{"name": }', "line 1, column 10"),
        ('{\n "name": nope}', "line 2, column 10, before 'nope}'"),
        ('{"name": 1', "the end of the text"),
        ("", "line 1, column 1"),
        ("[1]", "JSON array"),
        ('"text"', "JSON string"),
        ("null", "give an object"),
        ('{"x": NaN}', "NaN"),
        ('{"x": -Infinity}', "-Infinity"),
        ('{"x": ' + "[" * 100_000 + "}", "nested too deeply"),
    ],
)  # fmt: skip
def test_wrong_json_says_where(call: Call, app: App, payload: str, words: str) -> None:
    outcome = call("enqueue", "greet", payload)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert words in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--delay", "later"], "delay='later'"),
        (["--at", "tomorrow"], "--at 'tomorrow' is not a time"),
        (["--at", "2030-01-01T00:00:00"], "has no time zone"),
        (["--at", "2030-01-01T00:00:00Z", "--delay", "1s"], "exclude each other"),
        (["--priority", "101"], "priority=101"),
        (["--priority", "high"], "--priority"),
        (["--attempts", "0"], "attempts=0"),
        (["--id", "7"], "not a job id"),
        (["--queue", "a b"], "queue='a b'"),
        (["--tenant", "/eu"], "--tenant '/eu' is not a tenant"),
        (["--tenant", ""], "write acme, or acme/eu"),
        (["--unique", ""], "unique key ''"),
        (["--unique", "k", "--unique-per", "often"], "unique per='often'"),
        (["--unique", "k", "--unique-scope", "world"], "unique scope 'world' does not exist"),
        (["--unique", "k", "--unique-scope", "tenant"], "one per tenant, and the job has none"),
        (["--unique-per", "1h"], "give that too"),
    ],
    ids=str,
)
def test_wrong_options_are_usage_errors_that_name_them(call: Call, app: App, options: list[str], words: str) -> None:
    outcome = call("enqueue", "greet", "{}", *options)
    assert outcome.code == 2
    assert words in outcome.err
    assert call("jobs", "list", "--json").json["jobs"] == []


def test_a_payload_over_the_limit_is_a_failure(shell: Shell, app: App) -> None:
    text = '{"name": "' + "x" * 2_000_000 + '"}'
    outcome = shell.run("enqueue", "greet", "-", stdin=text, env={"PENSTOCK_STORE": "sqlite:///jobs.db"})
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1


def test_a_missing_store_is_not_made(call: Call, tmp_path: Path) -> None:
    outcome = call("enqueue", "greet", "{}")
    assert outcome.code == 1
    assert "penstock migrate" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_job_of_a_limited_queue_is_under_its_limit(call: Call, app: App) -> None:
    """As the workers' config has it in the store, whatever is in the folder of the command."""
    World(app.store, FakeClock()).register(limits=(Limit("key:queue:mail", 2, None),))
    job_id = call("enqueue", "greet", "{}", "--queue", "mail").out.strip()
    assert app.get(job_id).read().keys == ("queue:mail",)
