"""`penstock alerts …`: what is wrong, whether those who are to be told can be, and what they need not hear of."""

import typer

from penstock.cli.alerts.list import list_alerts
from penstock.cli.alerts.silence import silence_alerts, unsilence_alerts
from penstock.cli.alerts.sinks import try_sinks
from penstock.cli.commands import SETTINGS

alerts = typer.Typer(help="Alerts: list them, test who is told, silence them.", add_completion=False, **SETTINGS)
alerts.command("list")(list_alerts)
alerts.command("test")(try_sinks)
alerts.command("silence")(silence_alerts)
alerts.command("unsilence")(unsilence_alerts)
