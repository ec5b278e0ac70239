"""Private servers start, fail on demand, answer behind a pooler, and leave nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests.postgres import binaries, processes
from tests.postgres.binaries import Version
from tests.postgres.pgbouncer import ADMIN, PgBouncer, program
from tests.postgres.private import PrivateFolder, free_port
from tests.postgres.proxy import Proxy
from tests.postgres.server import Mode, Server, shared
from tests.postgres.wrong_clock import BASE_SECONDS
from tests.tidy.tree import ROOT

pytestmark = pytest.mark.turns

MODES: tuple[Mode, ...] = ("fast", "immediate")
STARTS_AND_WAITS = """
import sys
import time
from tests.postgres.pgbouncer import PgBouncer
from tests.postgres.server import shared

server = shared(18)
pooler = PgBouncer(server)
print(server.pid, pooler._process.pid, server.folder.path, flush=True)
sys.stdin.read()
"""


def test_it_is_of_the_version_asked_for_and_stores_what_people_write(version: Version) -> None:
    server = shared(version)
    assert server.execute("SELECT current_setting('server_version_num')::int / 10000") == [(version,)]
    assert server.execute("SELECT current_setting('server_encoding'), %s", "żółw 🐢") == [("UTF8", "żółw 🐢")]


def test_all_tests_share_one(version: Version) -> None:
    assert shared(version) is shared(version)


def test_it_never_runs_as_root(version: Version) -> None:
    server = shared(version)
    family = [server.pid, *processes.children(server.pid)]
    assert {os.stat(f"/proc/{pid}").st_uid for pid in family} == {server.folder.user}
    assert server.folder.user != 0


def test_it_listens_on_a_socket_too(version: Version) -> None:
    with psycopg.connect(shared(version).socket_url()) as connection:
        assert connection.execute("SELECT inet_server_addr()").fetchone() == (None,)


def test_encoding_and_settings_can_be_chosen(version: Version) -> None:
    with Server(version, encoding="LATIN1", settings={"fsync": "on", "max_connections": "17"}) as server:
        names = ["fsync", "max_connections", "server_encoding"]
        found = server.execute("SELECT name, setting FROM pg_settings WHERE name = ANY (%s) ORDER BY 1", names)
    assert found == [("fsync", "on"), ("max_connections", "17"), ("server_encoding", "LATIN1")]


def test_a_setting_it_refuses_is_told_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = PrivateFolder()
    monkeypatch.setattr("tests.postgres.server.PrivateFolder", lambda: made)
    with pytest.raises(RuntimeError, match='invalid value for parameter "shared_buffers"'):
        Server(18, settings={"shared_buffers": "a lot"})
    assert not made.path.exists()


def test_a_taken_port_is_left_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, free = shared(18).port, free_port()
    ports = iter([taken, free])
    monkeypatch.setattr("tests.postgres.server.free_port", lambda: next(ports))
    with Server(18) as server:
        assert server.port == free
        assert server.execute("SELECT 1") == [(1,)]


@pytest.mark.parametrize("mode", MODES)
def test_a_restart_ends_connections_and_keeps_the_data(own_server: Server, mode: Mode) -> None:
    with own_server.connect() as client:
        own_server.restart(mode, {"work_mem": "5MB"})
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
    assert own_server.execute("SELECT * FROM kept") == [(1,)]
    assert own_server.execute("SHOW work_mem") == [("5MB",)]


def test_a_kill_ends_every_process_and_what_was_committed_comes_back(own_server: Server) -> None:
    with own_server.connect() as client:
        family = [own_server.pid, *processes.children(own_server.pid)]
        assert len(family) > 3
        own_server.kill()
        assert [pid for pid in family if processes.lives(pid)] == []
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="refused"):
        own_server.connect()
    own_server.start()
    assert own_server.execute("SELECT * FROM kept") == [(1,)]


def test_a_suspended_server_is_silent_and_then_goes_on(own_server: Server) -> None:
    with own_server.connect() as client:
        assert client.execute("SELECT 1").fetchone() == (1,)
        with own_server.suspended():
            client.pgconn.send_query(b"SELECT 2")
            assert not processes.runs(client.info.backend_pid)
            with pytest.raises(psycopg.errors.ConnectionTimeout):
                own_server.connect(connect_timeout=2)
        result = client.pgconn.get_result()
        assert result
        assert result.get_value(0, 0) == b"2"
        assert client.pgconn.get_result() is None


def test_a_standby_can_be_read_and_refuses_to_write_until_promoted(own_server: Server) -> None:
    own_server.demote()
    assert own_server.execute("SELECT * FROM kept") == [(1,)]
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        own_server.execute("INSERT INTO kept VALUES (2)")
    own_server.promote()
    own_server.execute("INSERT INTO kept VALUES (2)")


def test_a_clock_that_is_set_is_what_it_goes_by_and_timers_still_go_off(version: Version) -> None:
    with Server(version, wrong_clock=True) as server, server.connect() as db:

        def off() -> float:
            ((at,),) = db.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
            return float(at) - time.time() + BASE_SECONDS

        db.execute("SET statement_timeout = 50")
        for step in (0.0, 3600.0, -3600.0, 300.0):
            server.set_clock(step)
            assert abs(off() - step) < 5
            with pytest.raises(psycopg.errors.QueryCanceled):
                db.execute("SELECT pg_sleep(60)")
        with pytest.raises(ValueError, match="can be set forward by at most 7200 s"):
            server.set_clock(7201)


def test_a_server_with_the_right_clock_cannot_be_set(version: Version) -> None:
    with pytest.raises(RuntimeError, match="wrong_clock=True"):
        shared(version).set_clock(1)


def test_closing_leaves_nothing_and_may_be_repeated(version: Version) -> None:
    server = Server(version)
    pid, folder = server.pid, server.folder.path
    assert processes.lives(pid)
    for _ in range(2):
        server.close()
        assert not processes.lives(pid)
        assert not folder.exists()


def test_a_killed_server_leaves_no_shared_memory(version: Version) -> None:
    with Server(version) as server:
        _, segment = (server.folder.path / "data" / "postmaster.pid").read_text().splitlines()[6].split()
        server.kill()
        assert segment in segments()
    assert segment not in segments()


def test_a_fork_of_the_process_cannot_close_it(own_server: Server) -> None:
    own_server.folder._made_by -= 1
    own_server.close()
    own_server.folder._made_by += 1
    assert own_server.execute("SELECT 1") == [(1,)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_it_is_gone_when_the_process_that_started_it_is(number: signal.Signals) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTS_AND_WAITS],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with starter:
        assert starter.stdout
        postmaster, pooler, folder = starter.stdout.readline().split()
        family = [int(postmaster), int(pooler), *processes.children(int(postmaster))]
        assert all(map(processes.lives, family))
        starter.send_signal(number)
        starter.wait(30)
    processes.wait_until(lambda: not Path(folder).exists(), "the folder is removed")
    assert [pid for pid in family if processes.lives(pid)] == []


def test_an_installation_in_a_folder_closed_to_others_still_runs(tmp_path: Path) -> None:
    version: Version = 18
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    package = binaries.installed()
    shutil.copytree(package / binaries.FOLDERS[version], closed / package.name / binaries.FOLDERS[version])
    shutil.copytree(package.parent / f"{package.name}.libs", closed / f"{package.name}.libs")
    programs = binaries.copied(closed / package.name, version) / binaries.FOLDERS[version] / "bin"
    folder = PrivateFolder()
    try:
        assert f"(PostgreSQL) {version}." in folder.run([programs / "initdb", "--version"])
    finally:
        folder.close()


def test_a_command_that_fails_tells_what_it_said() -> None:
    folder = PrivateFolder()
    try:
        with pytest.raises(RuntimeError, match="no such thing"):
            folder.run(["sh", "-c", "echo no such thing; exit 3"])
    finally:
        folder.close()


def test_the_network_between_can_fail(version: Version) -> None:
    server = shared(version)
    with Proxy(server.port) as proxy, server.connect(port=proxy.port) as client:
        assert client.execute("SELECT 1").fetchone() == (1,)
        proxy.refuse()
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")


def test_a_pooler_in_transaction_mode_answers(version: Version) -> None:
    server = shared(version)
    with PgBouncer(server, settings={"default_pool_size": "1"}) as pooler:
        with psycopg.connect(pooler.url(), prepare_threshold=None) as first:
            backend = first.execute("SELECT pg_backend_pid()").fetchone()
            first.commit()
            with psycopg.connect(pooler.url(), prepare_threshold=None) as second:
                assert second.execute("SELECT pg_backend_pid()").fetchone() == backend
        with psycopg.connect(pooler.url("pgbouncer", user=ADMIN), autocommit=True) as console:
            # The console knows only the simple protocol.
            assert (b"pool_mode", b"transaction") in shown(console)
    assert not processes.lives(pooler._process.pid)


def test_a_pooler_that_cannot_start_tells_why() -> None:
    with pytest.raises(RuntimeError, match="invalid value"):
        PgBouncer(shared(18), settings={"pool_mode": "nonsense"})


def test_a_missing_pooler_is_an_error_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path: None)
    with pytest.raises(RuntimeError, match="apt-get install pgbouncer"):
        program()


def shown(console: psycopg.Connection[tuple[object, ...]]) -> list[tuple[bytes | None, bytes | None]]:
    result = console.pgconn.exec_(b"SHOW CONFIG")
    return [(result.get_value(row, 0), result.get_value(row, 1)) for row in range(result.ntuples)]


def segments() -> set[str]:
    """The System V segments of the machine, by their numbers."""
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return {line.split()[1] for line in lines}
