"""`penstock health`: whether the store, its workers and its queues are well; for people and for monitors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.moments import parse_patience
from penstock.cli.input.options import AsJson, ConfigFile, StoreUrl
from penstock.cli.input.storage import found
from penstock.cli.output.findings import ShownFinding, findings_table
from penstock.cli.output.tables import print_json, show
from penstock.cli.running.guard import guarded
from penstock.program.codes import FAILED

if TYPE_CHECKING:
    from penstock.observe.health import Health

TIMEOUT = "5s"


@guarded
def health(
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="D", help="How long the store may take for its answers.")
    ] = TIMEOUT,
    as_json: AsJson = False,
    store: StoreUrl = None,
    config: ConfigFile = None,
) -> None:
    """Say whether the store, its workers and its queues are well: healthy, degraded or unhealthy.

    Ends with 0 when it is healthy or degraded, with 1 when it is unhealthy. What counts as too few workers and as too
    many dead letters is in the config: health.min_workers and health.dead_letter_threshold.

    \b
    penstock health --store sqlite:///jobs.db
    penstock health --timeout 1s --json
    """
    found, address = _ask(store, config, parse_patience(timeout, "--timeout"))
    if as_json:
        print_json({"status": found.status, "checks": found.checks, "details": found.details, "store": address})
    else:
        _show(found, address)
    if found.status == "unhealthy":
        raise typer.Exit(FAILED)


def _ask(url: str | None, config: str | None, timeout: float) -> tuple[Health, str]:
    from penstock.config.load import load
    from penstock.engines import open_store
    from penstock.observe.health import judge
    from penstock.observe.reading import Reading
    from penstock.system.clock import SystemClock

    settled = load(config)
    address = url or settled.store()
    store = open_store(address, create=False)
    facts = Reading(lambda: found(store, address), SystemClock()).wait(timeout)
    if facts.late is None:
        store.close()  # One that hangs would be waited for; it ends with this process.
    return judge(facts, settled.health_limits()), store.address


def _show(found: Health, address: str) -> None:
    seen = [ShownFinding(check.status, check.name, check.message, check.fix) for check in found.checks]
    show(findings_table(seen), f"\n{found.status}: {address}")
