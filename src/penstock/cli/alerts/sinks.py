"""`penstock alerts test`: sends a message to those who are told of alerts, and says what each answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.options import AsJson, ConfigFile
from penstock.cli.output.findings import ShownFinding, findings_table
from penstock.cli.output.tables import print_json, show
from penstock.cli.running.guard import guarded
from penstock.domain.errors import ConfigError, OutboundError
from penstock.program.codes import FAILED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.config.load import Config
    from penstock.observe.alerts.settings import SinkSpec
    from penstock.outbound.message import AlertMessage


@guarded
def try_sinks(
    only: Annotated[
        list[str] | None, typer.Option("--sink", metavar="NAME", help="Only this one; may be given several times.")
    ] = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Test who is told of alerts: send each sink of the config a message, and say what became of it.

    Ends with 1 when one of them did not take it.

    \b
    penstock alerts test
    penstock alerts test --sink log --json
    """
    from penstock.config.load import load
    from penstock.observe import logs
    from penstock.observe.redaction import told

    settled = load(config)
    chosen = _chosen(settled, only or [])
    logs.configure(settled["log.level"], settled["log.format"])
    failures: dict[str, str | None] = {}
    for spec in chosen:
        try:
            _send(spec)
            failures[spec.name] = None
        except OutboundError as error:
            failures[spec.name] = told(error)
    if as_json:
        print_json({"sinks": [{"name": name, "ok": error is None, "error": error} for name, error in failures.items()]})
    else:
        show(findings_table([_shown(name, error) for name, error in failures.items()]))
    if any(error is not None for error in failures.values()):
        raise typer.Exit(FAILED)


def _chosen(settled: Config, only: Sequence[str]) -> list[SinkSpec]:
    specs = {spec.name: spec for spec in settled.alerts().sinks}
    if not specs:
        raise ConfigError('alerts.sinks is off, so nobody is told of anything: write sinks = ["log"] under [alerts]')
    for name in only:
        if name not in specs:
            raise ConfigError(f"--sink {name!r} is not a sink of the config; they are: {', '.join(specs)}")
    return [spec for name, spec in specs.items() if not only or name in only]


def _send(spec: SinkSpec) -> None:
    from penstock.coordinator.alerting.sinks import make_sinks

    make_sinks([spec])[spec.name].send(_message())


def _message() -> AlertMessage:
    from penstock.cli.input.actor import whoami
    from penstock.observe.alerts.catalogue import STORE, TESTED
    from penstock.outbound.message import AlertMessage
    from penstock.system.clock import SystemClock
    from penstock.system.ids import IdSource

    clock = SystemClock()
    now = clock.now_us()
    return AlertMessage(
        rule=TESTED, scope=STORE, severity="info", state="firing", title="This is a test of alerts", since_us=now,
        message=f"{whoami()} wants to know whether alerts arrive here; nothing is wrong", at_us=now,
        key=IdSource(clock).next_id(), tags={}, value=None,
    )  # fmt: skip


def _shown(name: str, error: str | None) -> ShownFinding:
    if error is None:
        return ShownFinding("ok", name, "it took the message", None)
    return ShownFinding("error", name, error, "penstock config alerts.sinks says where that was written")
