"""The alerting rules for Prometheus. Each names metrics of the catalogue, and gets their prefix when it is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from string import Template
from typing import Literal

from penstock.observe.metrics.catalogue import METRICS


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """It fires when `when` has held `lasting`. A metric is named by `$name`."""

    name: str
    when: str
    lasting: str
    severity: Literal["warning", "critical"]
    summary: str
    fix: str


RULES = (
    Rule(
        name="PenstockNoLeader", when="absent($leader == 1)", lasting="1m", severity="critical",
        summary="Nobody leads: no job of a lost worker is recovered, no schedule fires, nothing expires",
        fix="start a worker or penstock coordinator, and see that Prometheus reaches it",
    ),
    Rule(
        name="PenstockNoWorkers", when='max($workers{status="active"}) == 0', lasting="2m", severity="critical",
        summary="No worker is active: nothing runs",
        fix="start workers; penstock workers shows those that are draining, failing or stale",
    ),
    Rule(
        name="PenstockTimeouts",
        when='sum by (type) (rate($jobs_total{status="timeout"}[10m]))'
             ' / sum by (type) (rate($jobs_total{status="started"}[10m])) > 0.1',
        lasting="10m", severity="warning",
        summary="{{ $value | humanizePercentage }} of the attempts of {{ $labels.type }} run into their timeout",
        fix="look at what they wait for; a longer timeout= is the last resort",
    ),
    Rule(
        name="PenstockFailures",
        when='sum by (type) (rate($jobs_total{status="failed"}[10m]))'
             ' / sum by (type) (rate($jobs_total{status="started"}[10m])) > 0.5',
        lasting="10m", severity="warning",
        summary="{{ $value | humanizePercentage }} of the attempts of {{ $labels.type }} fail",
        fix="penstock dead list shows the errors of those that were tried for the last time",
    ),
    Rule(
        name="PenstockDeadLetters", when="sum(max by (state) ($dead_letters)) >= 100", lasting="5m", severity="warning",
        summary="{{ $value | humanize }} dead letters have built up",
        fix="look at them with penstock dead list; then retry or purge them",
    ),
    Rule(
        name="PenstockQueueWaits", when="max by (queue) ($oldest_waiting_seconds) > 300", lasting="5m",
        severity="warning",
        summary="The oldest job of queue {{ $labels.queue }} has waited for {{ $value | humanizeDuration }}",
        fix="start more workers for it",
    ),
    Rule(
        name="PenstockQueueStuck", when="max by (queue) ($oldest_waiting_seconds) > 3600", lasting="5m",
        severity="critical",
        summary="The oldest job of queue {{ $labels.queue }} has waited for {{ $value | humanizeDuration }}",
        fix="penstock doctor says whether a worker takes it",
    ),
    Rule(
        name="PenstockUnroutable", when="max by (capability) ($jobs_without_worker) > 0", lasting="5m",
        severity="warning",
        summary="{{ $value | humanize }} jobs that need {{ $labels.capability }} wait, and no worker can take them",
        fix="penstock doctor says what such a worker must have",
    ),
    Rule(
        name="PenstockSampleStale", when="max($sample_age_seconds) > 900", lasting="1m", severity="warning",
        summary="The figures of what waits are {{ $value | humanizeDuration }} old",
        fix="the log of the leader says why it takes no new sample",
    ),
    Rule(
        name="PenstockWorkerLost", when="sum(increase(${worker_downtime_seconds}_count[15m])) > 0", lasting="0s",
        severity="warning",
        summary="A worker was declared lost; its jobs were recovered",
        fix="look for it in the log of its machine: killed for memory, perhaps",
    ),
    Rule(
        name="PenstockProcessSilent", when="$supervisor_process_up == 0", lasting="5m", severity="warning",
        summary="Worker process {{ $labels.process }} of {{ $labels.instance }} does not answer its supervisor",
        fix="the log of the supervisor says whether it starts again and again; else look where it hangs",
    ),
    Rule(
        name="PenstockWebhookDisabled", when="sum(increase($webhook_disabled_total[1h])) > 0", lasting="0s",
        severity="warning",
        summary="A webhook was switched off, because it kept failing",
        fix="mend its receiver, and switch it on again",
    ),
)  # fmt: skip


def named(expression: str, prefix: str) -> str:
    """With the names as they are scraped. One that is not in the catalogue is an error."""
    return Template(expression).substitute({metric.name: prefix + metric.name for metric in METRICS})


def rules_file(prefix: str) -> str:
    """A file of rules for Prometheus."""
    return "\n".join(_lines(prefix)) + "\n"


def _lines(prefix: str) -> Iterator[str]:
    yield "# Made by: penstock metrics rules"
    yield "groups:"
    yield "  - name: penstock"
    yield "    rules:"
    for rule in RULES:
        yield f"      - alert: {rule.name}"
        yield f"        expr: {_text(named(rule.when, prefix))}"
        yield f"        for: {rule.lasting}"
        yield "        labels:"
        yield f"          severity: {rule.severity}"
        yield "        annotations:"
        yield f"          summary: {_text(rule.summary)}"
        yield f"          description: {_text(f'What to do: {rule.fix}.')}"


def _text(text: str) -> str:
    """A JSON text is one of YAML."""
    return json.dumps(text, ensure_ascii=False)
