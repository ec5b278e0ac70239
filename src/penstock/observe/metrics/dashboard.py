"""A dashboard for Grafana. Its panels name metrics of the catalogue, and get their prefix when it is written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from penstock.observe.metrics.rules import named

COLUMNS = 24
HEIGHT = 8
SOURCE = {"type": "prometheus", "uid": "${source}"}
"""Which Prometheus: chosen at the top of the dashboard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Curves, each an expression with the name that its legend gives it; `tiles` shows their last values alone."""

    title: str
    curves: tuple[tuple[str, str], ...]
    unit: Literal["short", "s", "percentunit", "ops"] = "short"
    tiles: bool = False
    width: int = 12


_RATE = "[$$__rate_interval]"


def _quantiles(metric: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"histogram_quantile({part}, sum by (le) (rate(${{{metric}}}_bucket{_RATE})))", f"p{part * 100:g}")
        for part in (0.5, 0.9, 0.99)
    )


PANELS = (
    Panel(title="Workers", curves=(("max by (status) ($workers)", "{{status}}"),), tiles=True, width=8),
    Panel(title="Leaders", curves=(("sum($leader)", "leaders"),), tiles=True, width=4),
    Panel(title="Dead letters", curves=(("max by (state) ($dead_letters)", "{{state}}"),), tiles=True, width=6),
    Panel(title="Age of the sample", curves=(("max($sample_age_seconds)", "age"),), unit="s", tiles=True, width=6),
    Panel(title="Jobs by what they came to",
          curves=((f"sum by (status) (rate($jobs_total{_RATE}))", "{{status}}"),), unit="ops"),
    Panel(title="Started by type", curves=(
        (f'sum by (type) (rate($jobs_total{{status="started"}}{_RATE}))', "{{type}}"),
    ), unit="ops"),
    Panel(title="Depth by state", curves=(("sum by (state) (max by (type, state) ($queue_depth))", "{{state}}"),)),
    Panel(title="Due and waiting, by capability", curves=(
        ("max by (capability) ($jobs_pending)", "{{capability}}"),
        ("max by (capability) ($jobs_without_worker)", "{{capability}}, no worker"),
    )),
    Panel(title="Oldest that waits, by queue", curves=(("max by (queue) ($oldest_waiting_seconds)", "{{queue}}"),),
          unit="s"),
    Panel(title="From due to begun", curves=_quantiles("queue_wait_seconds"), unit="s"),
    Panel(title="From due to claimed", curves=_quantiles("scheduling_latency_seconds"), unit="s"),
    Panel(title="How long attempts run", curves=_quantiles("job_duration_seconds"), unit="s"),
    Panel(title="Attempts that a job needs", curves=(
        (f"sum(rate(${{job_attempts}}_sum{_RATE})) / sum(rate(${{job_attempts}}_count{_RATE}))", "mean"),
    )),
    Panel(title="Running by type", curves=(("sum by (type) ($jobs_active)", "{{type}}"),)),
    Panel(title="Slots", curves=(("sum($worker_slots)", "slots"), ("sum($jobs_active)", "taken"))),
    Panel(title="Utilization", curves=(("$worker_utilization", "{{instance}}"),), unit="percentunit"),
    Panel(title="Claimed, completed and failed by capability", curves=(
        (f"sum by (capability) (rate($worker_jobs_claimed_total{_RATE}))", "{{capability}} claimed"),
        (f"sum by (capability) (rate($worker_jobs_completed_total{_RATE}))", "{{capability}} completed"),
        (f"sum by (capability) (rate($worker_jobs_failed_total{_RATE}))", "{{capability}} failed"),
    ), unit="ops"),
    Panel(title="Lost workers, refused outcomes, webhooks switched off", curves=(
        ("sum(increase(${worker_downtime_seconds}_count[1h]))", "workers lost"),
        ("sum(increase($lease_rejected_total[1h]))", "outcomes refused"),
        ("sum(increase($webhook_disabled_total[1h]))", "webhooks off"),
    )),
    Panel(title="Processes that answer their supervisor",
          curves=(("sum by (instance) ($supervisor_process_up)", "{{instance}}"),)),
    Panel(title="Versions", curves=(("count by (version) ($build_info)", "{{version}}"),)),
    Panel(title="Left out of the metrics", curves=(("max by (label) ($metrics_left_out)", "{{label}}"),)),
)  # fmt: skip


def dashboard(prefix: str) -> str:
    """The document that Grafana imports."""
    document = {
        "title": "penstock",
        "uid": "penstock",
        "tags": ["penstock"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
        },
        "panels": _panels(prefix),
    }
    return json.dumps(document, indent=2) + "\n"


def _panels(prefix: str) -> list[dict[str, Any]]:
    """One beside the other, as many as fit into a row."""
    made: list[dict[str, Any]] = []
    x = y = 0
    for number, panel in enumerate(PANELS, start=1):
        if x + panel.width > COLUMNS:
            x, y = 0, y + HEIGHT
        place = {"x": x, "y": y, "w": panel.width, "h": HEIGHT}
        made.append({"id": number, "gridPos": place, **_panel(panel, prefix)})
        x += panel.width
    return made


def _panel(panel: Panel, prefix: str) -> dict[str, Any]:
    return {
        "type": "stat" if panel.tiles else "timeseries",
        "title": panel.title,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": SOURCE,
                "expr": named(curve, prefix),
                "legendFormat": legend,
            }
            for number, (curve, legend) in enumerate(panel.curves)
        ],
    }
