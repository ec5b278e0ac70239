"""Whatever is stored, given or configured: no command lets it steer the terminal, or shows a password of an address."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import App, Concurrency, Context, RateLimit, Tenant, Unique
from penstock.cli import commands
from penstock.store import contract as p
from tests.cli.conftest import Call, Shell
from tests.store.test_mask import BROKEN, CANARY

HOSTILE = "\x1b]0;pwn\x07\x1b[2J\r\n[bold red]x[/] \u202e\x9b31m\x7f"
STEERING = ("\x1b", "\x07", "\x9b", "\u202e", "\r", "\x7f")


@pytest.fixture
def ids(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A store whose every text is hostile, as far as it takes it."""
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    tenant = Tenant(HOSTILE, HOSTILE)

    @app.job(attempts=1)
    async def boom(x: str) -> None:
        raise type(HOSTILE, (Exception,), {"code": HOSTILE})(HOSTILE)

    @app.job
    async def echo(ctx: Context, x: str) -> dict[str, str]:
        await ctx.progress(5, phase=HOSTILE, k=HOSTILE)
        return {HOSTILE: x}

    dead = boom.using(tenant=tenant).enqueue(HOSTILE)
    unique = echo.using(tenant=tenant, unique=Unique(HOSTILE)).enqueue(HOSTILE)
    later = echo.using(
        tenant=tenant, delay="1h", limit=Concurrency(HOSTILE, 1), rate_limit=RateLimit(HOSTILE, 1, "hour")
    ).enqueue(HOSTILE)
    flow = app.workflow("flow")
    flow.step(boom.using(tenant=tenant).bind(HOSTILE), name="one")
    started = flow.enqueue()
    app.schedules.add("nightly", job=echo.using(tenant=tenant).bind(HOSTILE), cron="0 3 * * *")
    asyncio.run(app.run_worker(burst=True))
    alert = p.AlertRow(
        rule="stale_jobs", scope=HOSTILE, state="firing", severity="high", key=HOSTILE, since=1, title=HOSTILE,
        message=HOSTILE, tags={HOSTILE: HOSTILE}, told={HOSTILE: p.Told(sent="firing", error=HOSTILE)},
    )  # fmt: skip
    app.store.change_alerts(p.ChangeAlerts([p.AlertChange(alert, None)])).wait()
    app.pause_queue("default", reason=HOSTILE)
    app.pause_type("boom", reason=HOSTILE)
    yield {"DEAD": dead.id, "UNIQUE": unique.id, "LATER": later.id, "FLOW": started.id}
    app.close()


COMMANDS = [
    "jobs list", "jobs list --tenant HOSTILE", "jobs list --tag HOSTILE", "jobs list --type HOSTILE",
    "jobs show DEAD", "jobs show UNIQUE", "jobs show LATER", "jobs show HOSTILE", "jobs watch DEAD",
    "jobs watch UNIQUE", "jobs cancel DEAD", "jobs cancel LATER --yes", "jobs tree DEAD",
    "counts", "counts --by tenant", "counts --by type", "counts --by queue", "counts --tenant HOSTILE",
    "counts --by capability", "capacity", "capacity HOSTILE",
    "alerts list", "alerts list --all", "alerts test --sink HOSTILE", "alerts silence HOSTILE",
    "alerts silence stale_jobs --scope HOSTILE --reason HOSTILE", "alerts unsilence stale_jobs --scope HOSTILE",
    "metrics", "metrics rules", "metrics dashboard HOSTILE", "alerts", "alerts list --all", "alerts silence HOSTILE",
    "top", "top --by queue", "top --by tenant", "top --by worker", "top --sort HOSTILE",
    "dead list", "dead show DEAD", "dead list --error HOSTILE", "dead retry DEAD", "dead retry --tenant HOSTILE",
    "dead retry DEAD --yes", "dead purge --tenant HOSTILE --dry-run", "dead purge --type HOSTILE --yes",
    "workflows list", "workflows show FLOW", "workflows show HOSTILE", "workflows retry FLOW",
    "schedules list", "schedules show nightly", "schedules show HOSTILE", "schedules pause HOSTILE",
    "schedules run nightly", "schedules remove HOSTILE", "queues", "queues list", "queues pause default",
    "queues pause HOSTILE", "queues resume default", "queues drain HOSTILE", "workers", "workers drain HOSTILE",
    "workers resize HOSTILE 4", "recover", "health", "doctor", "doctor --deep", "enqueue HOSTILE {}",
    "enqueue echo HOSTILE", "spread HOSTILE --type echo", "migrate", "migrate --dry-run", "migrate --grants HOSTILE",
    "config", "config HOSTILE", "config store", "worker HOSTILE", "worker tasks:HOSTILE", "start HOSTILE",
    "bench HOSTILE", "coordinator HOSTILE", "coordinator --store HOSTILE",
    "demo HOSTILE", "HOSTILE", "--HOSTILE", "counts HOSTILE", "counts --by HOSTILE",
    "counts --store HOSTILE", "counts --config HOSTILE",
]  # fmt: skip


def test_every_command_is_tried() -> None:
    assert set(commands.COMMANDS) <= {line.split()[0] for line in COMMANDS}


def words_of(line: str, ids: dict[str, str]) -> list[str]:
    return [ids.get(word, word.replace("HOSTILE", HOSTILE)) for word in line.split()]


@pytest.mark.parametrize("as_json", [False, True])
def test_nothing_steers_the_terminal(ids: dict[str, str], call: Call, as_json: bool) -> None:
    for line in COMMANDS:
        found = call(*words_of(line, ids), *(["--json"] if as_json else []))
        steering = [text for text in STEERING if text in found.out + found.err]
        assert not steering, f"{line}: {found.out + found.err!r}"
        assert "Traceback" not in found.err, line
        if as_json and found.code == 0 and found.out.startswith("{"):
            assert json.loads(found.out)


def test_nor_on_a_terminal_with_colours(ids: dict[str, str], shell: Shell) -> None:
    for line in ("counts --by tenant", "jobs list", "dead list", "queues list", "config HOSTILE"):
        store = [] if line.startswith("config") else ["--store", "sqlite:///jobs.db"]
        shown = shell.run_on_terminal(*words_of(line, ids), *store).out
        assert not any(text in shown for text in ("\x1b]", "\x1b[2J", "\x07", "\x9b", "\u202e")), line


# Passwords


@pytest.mark.parametrize("broken", BROKEN[:40])
def test_no_command_shows_the_password_of_a_misspelt_address(
    broken: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = broken.format(CANARY)
    shown = [call("counts", "--store", address), call("counts", f"--store={address}", "--json")]
    if "\0" not in address:
        monkeypatch.setenv("PENSTOCK_STORE", address)
        shown += [call("config"), call("config", "store"), call("config", "--json"), call("doctor"), call("health")]
    assert all(CANARY not in found.out + found.err for found in shown)


@pytest.mark.parametrize(
    "line", ["ADDRESS", "counts ADDRESS", "--stor=ADDRESS", "counts --by ADDRESS", "jobs ADDRESS", "worker ADDRESS",
             "config ADDRESS", "jobs show ADDRESS", "counts --config ADDRESS", "queues pause ADDRESS"],
)  # fmt: skip
def test_nor_of_an_address_in_the_wrong_place(line: str, call: Call) -> None:
    found = call(*line.replace("ADDRESS", f"postgresql://u:{CANARY}@h/db").split())
    assert found.code != 0
    assert CANARY not in found.out + found.err


def test_nor_of_a_server_that_does_not_answer(call: Call) -> None:
    found = call("counts", "--store", f"postgresql://u:{CANARY}@127.0.0.1:1/db?connect_timeout=1")
    assert found.code == 1
    assert CANARY not in found.out + found.err
