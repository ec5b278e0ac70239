"""The alerting rules by promtool: each is well formed, fires when it should, and stays silent when it should not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from penstock.observe.metrics.rules import RULES, named, rules_file
from tests.metrics.prometheus import promtool

PREFIX = "shop_"
"""Another one than the default: it must come through everywhere."""
AT = "30m"
BY_NAME = {rule.name: rule for rule in RULES}

Series = Mapping[str, str]
"""Values, one a minute, of each series; a metric is named by `$name`."""


@dataclass(frozen=True)
class Case:
    """With these it fires, with those it does not. What its summary says, and the labels that it fires with."""

    rule: str
    fires: Series
    silent: Series
    summary: str
    labels: Mapping[str, str] = field(default_factory=dict)


def attempts(status: str) -> str:
    return f'$jobs_total{{type="mail",status="{status}",instance="a"}}'


CASES = [
    Case("PenstockNoLeader", {'$leader{instance="a"}': "0x40"},
         {'$leader{instance="a"}': "0x40", '$leader{instance="b"}': "1x40"}, BY_NAME["PenstockNoLeader"].summary),
    Case("PenstockNoWorkers", {'$workers{status="active"}': "0x40", '$workers{status="draining"}': "3x40"},
         {'$workers{status="active"}': "1x40"}, BY_NAME["PenstockNoWorkers"].summary),
    Case("PenstockTimeouts", {attempts("timeout"): "0+6x40", attempts("started"): "0+30x40"},
         {attempts("timeout"): "0+1x40", attempts("started"): "0+30x40"},
         "20% of the attempts of mail run into their timeout", {"type": "mail"}),
    Case("PenstockFailures", {attempts("failed"): "0+24x40", attempts("started"): "0+30x40"},
         {attempts("failed"): "0+6x40", attempts("started"): "0+30x40"},
         "80% of the attempts of mail fail", {"type": "mail"}),
    Case("PenstockDeadLetters", {'$dead_letters{state="dead"}': "90x40", '$dead_letters{state="expired"}': "10x40"},
         {'$dead_letters{state="dead",instance="a"}': "99x40", '$dead_letters{state="dead",instance="b"}': "99x40"},
         "100 dead letters have built up"),
    Case("PenstockQueueWaits", {'$oldest_waiting_seconds{queue="mail"}': "400x40"},
         {'$oldest_waiting_seconds{queue="mail"}': "200x40"},
         "The oldest job of queue mail has waited for 6m 40s", {"queue": "mail"}),
    Case("PenstockQueueStuck", {'$oldest_waiting_seconds{queue="mail"}': "7200x40"},
         {'$oldest_waiting_seconds{queue="mail"}': "3000x40"},
         "The oldest job of queue mail has waited for 2h 0m 0s", {"queue": "mail"}),
    Case("PenstockUnroutable", {'$jobs_without_worker{capability="gpu"}': "3x40"},
         {'$jobs_without_worker{capability="gpu"}': "0x27 3x12"},
         "3 jobs that need gpu wait, and no worker can take them", {"capability": "gpu"}),
    Case("PenstockSampleStale", {"$sample_age_seconds": "1200x40"}, {"$sample_age_seconds": "600x40"},
         "The figures of what waits are 20m 0s old"),
    Case("PenstockWorkerLost", {"${worker_downtime_seconds}_count": "0x20 1x20"},
         {"${worker_downtime_seconds}_count": "1x40"}, BY_NAME["PenstockWorkerLost"].summary),
    Case("PenstockProcessSilent", {'$supervisor_process_up{process="2",instance="a"}': "0x40"},
         {'$supervisor_process_up{process="2",instance="a"}': "1x28 0x10"},
         "Worker process 2 of a does not answer its supervisor", {"process": "2", "instance": "a"}),
    Case("PenstockWebhookDisabled", {"$webhook_disabled_total": "0x20 1x20"}, {"$webhook_disabled_total": "3x40"},
         BY_NAME["PenstockWebhookDisabled"].summary),
]  # fmt: skip


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "shop.rules.yml"
    path.write_text(rules_file(PREFIX))
    return path


def run_of(case: Case, series: Series, *, fires: bool) -> dict[str, object]:
    """One test, as promtool reads it."""
    rule = BY_NAME[case.rule]
    alert = {
        "exp_labels": {"severity": rule.severity, **case.labels},
        "exp_annotations": {"summary": case.summary, "description": f"What to do: {rule.fix}."},
    }
    return {
        "interval": "1m",
        "name": f"{case.rule} {'fires' if fires else 'is silent'}",
        "input_series": [{"series": named(name, PREFIX), "values": values} for name, values in series.items()],
        "alert_rule_test": [{"eval_time": AT, "alertname": case.rule, "exp_alerts": [alert] if fires else []}],
    }


def test_each_rule_fires_when_it_should_and_not_when_it_should_not(rules: Path, tmp_path: Path) -> None:
    runs = [run_of(case, series, fires=fires)
            for case in CASES for series, fires in ((case.fires, True), (case.silent, False))]  # fmt: skip
    tests = tmp_path / "tests.yml"
    # What is JSON is YAML.
    tests.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": runs}))
    done = promtool("test", "rules", str(tests))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_test_of_a_rule_can_fail(rules: Path, tmp_path: Path) -> None:
    tests = tmp_path / "tests.yml"
    runs = [run_of(CASES[0], CASES[0].silent, fires=True)]
    tests.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": runs}))
    assert promtool("test", "rules", str(tests)).returncode != 0


def test_every_rule_has_its_test() -> None:
    assert [case.rule for case in CASES] == [rule.name for rule in RULES]


def test_nobody_to_scrape_is_nobody_who_leads(rules: Path, tmp_path: Path) -> None:
    tests = tmp_path / "tests.yml"
    nothing = run_of(CASES[0], {"up": "0x40"}, fires=True)
    tests.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": [nothing]}))
    done = promtool("test", "rules", str(tests))
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_finds_nothing_wrong_with_the_rules(rules: Path) -> None:
    checked = promtool("check", "rules", "--lint=all", "--lint-fatal", str(rules))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(RULES)} rules found" in checked.stdout
