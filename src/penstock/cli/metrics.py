"""`penstock metrics`: what Prometheus and Grafana are given, made of the list of metrics."""

from __future__ import annotations

import typer

from penstock.cli.commands import SETTINGS
from penstock.cli.input.options import AsJson, ConfigFile
from penstock.cli.output.say import say
from penstock.cli.output.tables import print_json, show, table, text
from penstock.cli.running.guard import guarded

metrics = typer.Typer(
    help="What Prometheus and Grafana are given: rules, a dashboard, and the list of metrics.",
    add_completion=False,
    **SETTINGS,
)


@metrics.command("list")
@guarded
def listed(as_json: AsJson = False, config: ConfigFile = None) -> None:
    """List every metric with its kind, its labels and who shows it.

    \b
    penstock metrics list
    """
    from dataclasses import asdict

    from penstock.observe.metrics.catalogue import METRICS

    prefix = _prefix(config)
    if as_json:
        print_json({"metrics": [{**asdict(metric), "name": prefix + metric.name} for metric in METRICS]})
        return
    made = table("name", "kind", "labels", "by", "meaning")
    for metric in METRICS:
        made.add_row(prefix + metric.name, metric.kind, ", ".join(metric.labels), metric.by, text(metric.help))
    show(made, "\nserved at /metrics of every worker: see docs/metrics.md")


@metrics.command()
@guarded
def rules(config: ConfigFile = None) -> None:
    """Print alerting rules for Prometheus, as YAML.

    \b
    penstock metrics rules > penstock.rules.yml
    """
    from penstock.observe.metrics.rules import rules_file

    say(rules_file(_prefix(config)).rstrip("\n"))


@metrics.command()
@guarded
def dashboard(config: ConfigFile = None) -> None:
    """Print a dashboard for Grafana, as JSON.

    \b
    penstock metrics dashboard > penstock.json
    """
    from penstock.observe.metrics import dashboard as made

    say(made.dashboard(_prefix(config)).rstrip("\n"))


def _prefix(config: str | None) -> str:
    from penstock.config.load import load

    prefix: str = load(config)["metrics.prefix"]
    return prefix
