"""`penstock alerts`: what is shown of alerts, what a test of sinks says, and what a silence does."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from penstock import App
from penstock.domain.clock import MICROSECONDS, from_us
from penstock.store import contract as p
from tests.cli.conftest import Call, Outcome
from tests.outbound.receiver import answer, receiver


@pytest.fixture
def fires(app: App) -> None:
    now = app.store.read_clock().wait()
    rows = [
        p.AlertRow(
            rule="final_failure", scope="mail", state="firing", severity="warning", key="k1", since=now, fired_at=now,
            title="Worker mail final failure", message="job x failed\n\x1b[31mred", tags={"type": "mail"},
            told={"log": p.Told(sent="firing", arrived=True), "ops": p.Told(sent="firing", error="answered 500")},
        ),
        p.AlertRow(
            rule="stale_jobs", scope="store", state="resolved", severity="warning", key="k2", since=now,
            resolved_at=now, title="t", message="m",
        ),
    ]  # fmt: skip
    app.store.change_alerts(p.ChangeAlerts([p.AlertChange(row, None) for row in rows])).wait()


@pytest.fixture
def config(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "alerts.toml"
    monkeypatch.setenv("PENSTOCK_CONFIG", str(path))
    path.write_text("")
    return path


# Listing


def looked(app: App, ago: float = 0.0, took: float = 0.1) -> int:
    """Somebody who leads has left a sample."""
    at = app.store.read_clock().wait() - round(ago * MICROSECONDS)
    app.store.store_sample(p.StoreSample(at, took, ())).wait()
    return at


def alerts_of(outcome: Outcome) -> list[tuple[str, str]]:
    return [(one["level"], one["message"]) for one in outcome.json["findings"] if one["name"] == "alerts"]


def test_nothing_fires(call: Call, app: App, tmp_path: Path) -> None:
    at = looked(app, ago=50)
    outcome = call("alerts", "list")
    assert (outcome.code, outcome.out) == (0, f"nothing fires in {tmp_path / 'jobs.db'}\n")
    assert datetime.fromisoformat(call("alerts", "list", "--json").json["looked_at"]) == from_us(at)
    assert alerts_of(call("doctor", "--json")) == [("ok", "none fires")]


@pytest.mark.parametrize(
    ("ago", "took", "said"),
    [(None, 0.1, "nobody has looked yet"), (540, 0.1, "nobody has looked for 9m"), (540, 3.7, None), (540, 3.5, "9m")],
)
def test_that_nobody_looks_is_told(call: Call, app: App, ago: float | None, took: float, said: str | None) -> None:
    if ago is not None:
        looked(app, ago, took)
    outcome, found = call("alerts", "list"), alerts_of(call("doctor", "--json"))
    if said is None:
        assert ("start a worker" in outcome.out, found) == (False, [("ok", "none fires")])
        return
    assert "nothing fires" not in outcome.out
    assert said in outcome.out
    assert "start a worker, or: penstock coordinator" in outcome.out
    [(level, message)] = found
    assert (level, said in message) == ("warning", True)
    assert (call("alerts", "list", "--json").json["looked_at"] is None) == (ago is None)


def test_a_worker_that_has_just_started_need_not_have_looked(call: Call, app: App) -> None:
    app.store.register_worker(
        p.RegisterWorker(worker_id="w", host="h", pid=1, version="1", slots=5, stale_after=60.0)
    ).wait()
    assert [level for level, _ in alerts_of(call("doctor", "--json"))] == ["ok"]
    looked(app, ago=540)
    assert [level for level, _ in alerts_of(call("doctor", "--json"))] == ["warning"]


@pytest.mark.usefixtures("fires")
def test_what_fires_is_listed_with_who_was_told(call: Call) -> None:
    outcome = call("alerts", "list")
    line = next(line for line in outcome.out.splitlines() if line.startswith("final_failure"))
    assert "log, not ops" in line
    assert "\\x1b" in line
    assert "stale_jobs" not in outcome.out
    assert "1 alert firing in" in outcome.out
    assert "stale_jobs" in call("alerts", "list", "--all").out


@pytest.mark.usefixtures("fires")
def test_json(call: Call) -> None:
    call("alerts", "silence", "stale_jobs", "--reason", "known")
    document = call("alerts", "list", "--json").json
    [alert] = document["alerts"]
    assert (alert["rule"], alert["severity"], alert["tags"]) == ("final_failure", "warning", {"type": "mail"})
    assert alert["told"]["ops"]["error"] == "answered 500"
    assert alert["since"].endswith("Z")
    assert [(one["rule"], one["scope"], one["reason"]) for one in document["silences"]] == [
        ("stale_jobs", None, "known")
    ]
    assert len(call("alerts", "list", "--all", "--json").json["alerts"]) == 2


# Silences


@pytest.mark.usefixtures("fires")
def test_a_silence_is_told_and_ended(call: Call) -> None:
    outcome = call("alerts", "silence", "final_failure", "--scope", "mail", "--for", "2h", "--reason", "known")
    assert "silenced: final_failure for mail, by " in outcome.out
    assert ": known; over in 1h" in outcome.out or ": known; over in 2h" in outcome.out
    assert "silenced: final_failure for mail" in call("alerts", "list").out
    assert "was not silenced" in call("alerts", "unsilence", "final_failure").out
    assert "final_failure for mail is told again" in call("alerts", "unsilence", "final_failure", "--scope", "mail").out
    assert "silenced" not in call("alerts", "list").out
    assert call("alerts", "unsilence", "final_failure", "--json").json == {"ended": None}
    assert call("alerts", "silence", "final_failure", "--json").json["silenced"]["scope"] is None


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["silence", "final_failur"], "did you mean final_failure?"),
        (["silence", "stale_jobs", "--for", "soon"], "--for='soon'"),
        (["silence", "stale_jobs", "--for", "0s"], "more than zero"),
        (["unsilence", "x"], "the rules are: "),
        (["silence", "dead_letter_buildup", "--scope", "mail"], "it has: store; or leave out --scope"),
        (["silence", "figures_behind", "--scope", "store"], "it has: sample, pages;"),
    ],
    ids=str,
)
def test_what_is_wrong_is_a_usage_error(call: Call, app: App, args: list[str], words: str) -> None:
    outcome = call("alerts", *args)
    assert outcome.code == 2
    assert words in outcome.err


# Sinks


def test_the_log_takes_a_test(call: Call, config: Path) -> None:
    outcome = call("alerts", "test")
    assert outcome.code == 0
    assert "it took the message" in outcome.out


def test_each_sink_says_what_it_answered(call: Call, config: Path) -> None:
    with receiver(answer(200)) as good, receiver(answer(404)) as bad:
        config.write_text(
            f'[alerts]\nsinks = [{{ webhook = "{good.url}/T0KEN", name = "good" }}, {{ slack = "{bad.url}/T0KEN" }}]\n'
        )
        outcome = call("alerts", "test", "--json")
        only = call("alerts", "test", "--sink", "good")
        assert len(good.requests) == 2
    assert outcome.code == 1
    taken, refused = outcome.json["sinks"]
    assert taken == {"name": "good", "ok": True, "error": None}
    assert (refused["name"], refused["ok"]) == ("slack", False)
    assert "answered 404" in refused["error"]
    assert "T0KEN" not in outcome.out + outcome.err
    assert only.code == 0


def test_a_sink_that_is_not_there_and_none_at_all(call: Call, config: Path) -> None:
    outcome = call("alerts", "test", "--sink", "x")
    assert (outcome.code, "they are: log" in outcome.err) == (2, True)
    config.write_text('[alerts]\nsinks = "off"\n')
    outcome = call("alerts", "test")
    assert (outcome.code, "alerts.sinks is off" in outcome.err) == (2, True)


# Whether people hear of it


@pytest.mark.usefixtures("fires")
def test_health_and_doctor_say_who_does_not_hear(call: Call, app: App) -> None:
    looked(app)
    checks = {check["name"]: check for check in call("health", "--json").json["checks"]}
    assert checks["alerts"]["status"] == "degraded"
    assert checks["alerts"]["message"] == "ops does not hear of 1 alert: answered 500"
    findings = [one for one in call("doctor", "--json").json["findings"] if one["name"] == "alerts"]
    assert [one["level"] for one in findings] == ["warning", "ok"]
    assert "final_failure (mail)" in findings[1]["message"]


def test_health_has_no_such_check_while_all_arrives(call: Call, app: App) -> None:
    app.store.read_clock().wait()
    assert "alerts" not in {check["name"] for check in call("health", "--json").json["checks"]}
