"""The commands on PostgreSQL: the same as on a file, with an address whose password is never shown."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from penstock import App, Unique
from penstock.bench import parts
from penstock.bench.fresh_store import bench_store
from penstock.bench.raw_postgres import RawPostgres
from penstock.store.disk import file_system
from penstock.store.postgres.connection import link
from penstock.store.postgres.connection.address import parse
from tests.cli.conftest import DEADLINE_SECONDS, TASKS, Call, Shell, run_all
from tests.cli.test_bench import RATES, SHORT
from tests.postgres.binaries import programs
from tests.postgres.private import HOST
from tests.postgres.server import Server, shared

pytestmark = pytest.mark.turns

SECRET = "hunter2"


@pytest.fixture
def server() -> Server:
    return shared(18)


@pytest.fixture
def schema(server: Server) -> Iterator[str]:
    """A name that no other test uses; what is made under it is removed."""
    name = f"cli_{uuid.uuid4().hex[:12]}"
    yield name
    server.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture
def url(server: Server, schema: str, monkeypatch: pytest.MonkeyPatch, call: Call) -> str:
    """The address in PENSTOCK_STORE, with a password that the server does not ask for."""
    address = with_password(server.url(schema=schema))
    monkeypatch.setenv("PENSTOCK_STORE", address)
    return address


def with_password(address: str) -> str:
    return address.replace("@", f":{SECRET}@", 1)


def shown(server: Server, schema: str) -> str:
    return f"postgresql://postgres@{HOST}:{server.port}/postgres?schema={schema}"


def psql(server: Server, script: str) -> None:
    """Run a script as an administrator would: | psql."""
    address = server.url()
    subprocess.run(
        [programs(18) / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", address],
        input=script, text=True, check=True, capture_output=True, timeout=DEADLINE_SECONDS,
    )  # fmt: skip


def schemas(server: Server, like: str) -> list[str]:
    return [name for (name,) in server.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE %s", like)]


# migrate


def test_migrate_status_and_dry_run(call: Call, url: str, server: Server, schema: str) -> None:
    before = call("migrate", "--status")
    assert (before.code, before.err) == (1, "")
    assert "version  0, the latest is " in before.out
    assert "pending  0001_initial" in before.out
    assert f"store    {shown(server, schema)}\n" in before.out
    assert call("migrate", "--dry-run").code == 0
    assert schemas(server, schema) == []
    done = call("migrate", "--json").json
    assert (done["before"], done["current"], done["pending"]) == (0, done["latest"], [])
    after = call("migrate", "--status")
    assert (after.code, after.out.splitlines()[-1]) == (0, "up to date")
    assert "nothing to do" in call("migrate").out
    nothing = call("migrate", "--dry-run")
    assert (nothing.code, [line for line in nothing.out.splitlines() if not line.startswith("--")]) == (0, [])


def test_the_sql_of_a_dry_run_piped_into_psql_makes_the_store(
    call: Call, url: str, server: Server, schema: str, tmp_path: Path
) -> None:
    script = call("migrate", "--dry-run").out
    assert SECRET not in script
    psql(server, script)
    assert call("migrate", "--status").code == 0
    with closing(App(url)) as app:
        app.enqueue("greet", {})
        assert call("counts", "--json").json["total"] == 1


# A role with no more rights than it needs


@pytest.fixture
def role(server: Server) -> Iterator[str]:
    name = f"Shop-{uuid.uuid4().hex[:8]}"
    server.execute(f'CREATE ROLE "{name}" LOGIN')
    yield name
    server.execute(f'DROP OWNED BY "{name}"')
    server.execute(f'DROP ROLE "{name}"')


def declared(app: App) -> App:
    @app.job
    async def greet(name: str = "you") -> str:
        return f"hello {name}"

    @app.job(attempts=1)
    async def boom(what: str = "boom") -> None:
        raise ValueError(what)

    @app.job(remove_on_complete=1)
    async def brief() -> None:
        pass

    return app


def test_a_role_with_the_printed_grants_can_do_all_that_workers_clients_and_operators_do(
    call: Call, url: str, server: Server, schema: str, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("migrate").code == 0
    psql(server, call("migrate", "--grants", role).out)
    as_role = server.url(user=role, schema=schema)
    monkeypatch.setenv("PENSTOCK_STORE", as_role)
    with closing(declared(App(as_role))) as app:
        with app.transaction() as tx:
            app.enqueue("greet", {}, conn=tx, unique=Unique("once", per="1h"))
        waiting = app.enqueue("greet", {}, delay="1h")
        app.enqueue("brief", {})
        app.enqueue("brief", {})
        boom = app.enqueue("boom", {})
        run_all(app)
    assert call("jobs", "cancel", waiting.id).code == 0
    assert call("dead", "retry", boom.id).code == 0
    assert call("dead", "purge", "--all", "--yes").code == 0
    for command in (["jobs", "list"], ["jobs", "show", waiting.id], ["workers"], ["counts"], ["dead", "list"]):
        outcome = call(*command)
        assert (outcome.code, outcome.err) == (0, ""), command
    assert call("doctor").code == 0


def test_a_role_without_rights_is_told_how_to_get_them(
    call: Call, url: str, server: Server, schema: str, role: str
) -> None:
    assert call("migrate").code == 0
    outcome = call("counts", "--store", server.url(user=role, schema=schema))
    assert outcome.code == 1
    assert "penstock migrate --grants" in outcome.err


# Every command


def test_a_whole_life_through_the_command_line_without_a_word_of_the_password(
    shell: Shell, project: Path, url: str, server: Server, schema: str
) -> None:
    (project / "tasks.py").write_text(TASKS.replace('App("sqlite:///jobs.db")', "App.from_config()"))
    shell.env["PENSTOCK_STORE"] = url
    missing = shell.run("counts")
    assert missing.code == 1
    assert f"penstock migrate --store '{shown(server, schema)}'" in missing.err
    outcomes = [missing, shell.run("migrate"), shell.run("enqueue", "greet", '{"name": "Ada"}')]
    job_id = outcomes[-1].out.strip()
    outcomes += [shell.run("enqueue", "boom", "{}"), shell.run("worker", "tasks:app", "--burst")]
    for command in (
        ["jobs", "list"], ["jobs", "show", job_id], ["counts", "--by", "type"], ["dead", "list"], ["workers"],
        ["config"], ["config", "store"], ["doctor", "tasks:app"], ["doctor", "--json"], ["migrate", "--status"],
    ):  # fmt: skip
        outcomes.append(shell.run(*command))
        assert outcomes[-1].code == 0, (command, outcomes[-1])
    assert "hello Ada" in outcomes[5].out + outcomes[6].out
    assert f"2 jobs in {shown(server, schema)}" in outcomes[7].out
    assert [outcome for outcome in outcomes if SECRET in outcome.out + outcome.err] == []


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that refuses connections is not waited for."""
    monkeypatch.setattr(link, "PATIENCE_SECONDS", 0.0)


@pytest.mark.parametrize(
    "command", [["counts"], ["migrate"], ["migrate", "--status"], ["enqueue", "greet", "{}"], ["bench"]], ids=" ".join
)
def test_a_server_that_is_down_is_one_line_with_the_fix(call: Call, impatient: None, command: list[str]) -> None:
    address = f"postgresql://postgres:{SECRET}@{HOST}:1/jobs"
    outcome = call(*command, "--store", address)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: postgresql://postgres@{HOST}:1/jobs")
    assert "running" in outcome.err
    assert outcome.err.count("\n") == 1
    assert SECRET not in outcome.err


def test_doctor_finds_that_the_server_is_down(call: Call, impatient: None) -> None:
    outcome = call("doctor", "--json", "--store", f"postgresql://postgres:{SECRET}@{HOST}:1/jobs")
    assert (outcome.code, outcome.err) == (1, "")
    document = outcome.json
    assert (document["worst"], document["store"]) == ("error", f"postgresql://postgres@{HOST}:1/jobs")
    errors = [finding for finding in document["findings"] if finding["level"] == "error"]
    assert errors
    assert all(finding["fix"] for finding in errors)
    assert SECRET not in outcome.out


# bench


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SHORT.items():
        monkeypatch.setattr(parts, name, value)


def test_bench_reports_the_same_figures_and_leaves_nothing_behind(call: Call, server: Server, short: None) -> None:
    outcome = call("bench", "--jobs", "200", "--rounds", "1", "--raw", "--json", "--store", with_password(server.url()))
    assert (outcome.code, outcome.err) == (0, "")
    figures = outcome.json
    for name in (*RATES, "enqueue_concurrent_per_s"):
        assert figures[name] > 0
        assert figures["raw"][name] > 0
    settings = figures["settings"]
    assert settings["engine"] == "postgresql"
    assert settings["schema"].startswith("penstock_bench_")
    assert settings["server_version"].startswith("18")
    assert (settings["fsync"], settings["synchronous_commit"]) == ("off", "on")
    assert settings["driver"].startswith("psycopg 3")
    assert settings["server"] == "this machine"
    assert settings["round_trip_ms"] > 0
    [note] = [one for one in figures["notes"] if "in memory" not in one]  # Where the files are is up to who runs this.
    assert note.startswith("unsafe: not comparable: fsync and full_page_writes off")
    assert "ALTER SYSTEM SET fsync = on" in note
    assert SECRET not in outcome.out
    assert schemas(server, settings["schema"]) == []


def test_bench_with_two_processes_and_no_history_in_a_schema_that_it_is_given(
    call: Call, server: Server, schema: str, short: None
) -> None:
    address = server.url(schema=schema)
    options = ("--jobs", "100", "--rounds", "1", "--processes", "2", "--history", "none")
    outcome = call("bench", *options, "--store", address)
    assert (outcome.code, outcome.err) == (0, "")
    for words in ("drain, async handlers", "history: none", "processes: 2", f"schema: {schema}", "note: unsafe"):
        assert words in outcome.out
    assert schemas(server, schema) == []


def test_bench_never_touches_a_schema_that_exists(call: Call, url: str, server: Server, schema: str) -> None:
    assert call("migrate").code == 0
    outcome = call("bench", "--store", url)
    assert outcome.code == 2
    assert f"the schema {schema} exists" in outcome.err
    assert call("migrate", "--status").code == 0


def test_an_interrupted_bench_drops_its_schema(shell: Shell, server: Server, schema: str) -> None:
    address = server.url(schema=schema)
    program = shell.start("bench", "--jobs", "100000", "--store", address)
    until = time.monotonic() + DEADLINE_SECONDS
    while not server.execute("SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'job'", schema):
        assert program.process.poll() is None, program.end()
        assert time.monotonic() < until
        os.sched_yield()
    program.process.send_signal(2)
    outcome = program.end()
    assert (outcome.code, "Traceback" in outcome.err) == (130, False), outcome
    assert schemas(server, schema) == []


def test_a_server_behind_a_unix_socket_is_this_machine_and_its_disk_is_stated(server: Server) -> None:
    with bench_store(server.socket_url()) as place:
        settings = place.settings()
    assert settings["server"] == "this machine"
    assert settings["file_system"] == (file_system(str(server.folder.path)) or "unknown")


def test_a_role_that_may_not_see_where_the_data_is_gets_all_other_settings(server: Server, role: str) -> None:
    server.execute(f'GRANT CREATE ON DATABASE postgres TO "{role}"')
    with bench_store(server.url(user=role)) as place:
        settings = place.settings()
    assert "disk_flush_ms" not in settings
    assert "file_system" not in settings
    assert settings["full_page_writes"] == "off"


def test_the_bare_driver_moves_exactly_the_rows_that_it_is_timed_with(server: Server, schema: str) -> None:
    server.execute(f"CREATE SCHEMA {schema}")
    raw = RawPostgres(parse(server.url()), schema)
    raw.insert_single(3)
    raw.fill(7)
    assert raw.drain(3) == 7
    assert raw.cycle(5, 2) > 0
    assert raw.drain(3) == 0
    raw.close()


# workflows


def test_a_workflow_is_shown_with_its_steps_in_order_and_what_compensates_it(call: Call, url: str) -> None:
    with closing(App(url)) as app:

        @app.job(attempts=1)
        async def step(ok: bool) -> None:
            assert ok

        flow = app.workflow("careful", compensate=step.using(tags=["sorry"]).bind(True))
        flow.step(step.bind(True), name="first")
        flow.step(step.bind(False), name="last", after=["middle", "first"])
        flow.step(step.bind(True), name="middle", after="first")
        handle = flow.enqueue()
        run_all(app)
        told = call("workflows", "show", handle.id, "--json").json
        assert [(one["name"], one["after"]) for one in told["steps"]] == [
            ("first", []), ("last", ["first", "middle"]), ("middle", ["first"]),
        ]  # fmt: skip
        assert app.get(told["compensation"]["id"]).read().tags == ("sorry",)
