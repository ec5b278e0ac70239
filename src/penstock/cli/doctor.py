"""`penstock doctor`: what is wrong with this machine, this store and its workers, each with the fix."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import required
from penstock.cli.output.findings import ShownFinding, findings_table
from penstock.cli.output.tables import plural, print_json, show
from penstock.cli.running.guard import guarded
from penstock.domain.errors import ConfigError, PenstockError
from penstock.program.codes import FAILED

if TYPE_CHECKING:
    from penstock.app import App
    from penstock.store.contract import Finding, Store

NAMED_MAX = 10


@guarded
def doctor(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODULE:APP]", help="Your App, to see also what it loads and declares.", show_default=False
        ),
    ] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Read the whole store, however large it is.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings too end with exit code 1.")] = False,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Say what is wrong with this machine or store, and how to mend it. Changes nothing.

    Ends with 0 when there is no error, with 1 when there is one.

    \b
    penstock doctor --store sqlite:///jobs.db
    penstock doctor tasks:app
    penstock doctor --deep --strict --json
    """
    from penstock.observe.doctor import worst

    address, findings = _examine(target, store, deep)
    if as_json:
        print_json({"findings": findings, "worst": worst(findings), "store": address})
    else:
        _show(findings, address)
    if worst(findings) in (("error", "warning") if strict else ("error",)):
        raise typer.Exit(FAILED)


def _examine(target: str | None, url: str | None, deep: bool) -> tuple[str | None, list[Finding]]:
    from penstock.observe.doctor import check_store
    from penstock.observe.machine import check_machine
    from penstock.system.clock import SystemClock

    app, findings = (None, []) if target is None else _load(target)
    findings = [*check_machine(), *findings]
    try:
        store = _store(app, url)
    except ConfigError:
        if target is None or app is not None:
            raise
        return None, findings  # Only the app, which cannot be loaded, knows where the store is.
    with closing(store):
        return store.address, findings + check_store(store, SystemClock(), deep, app.registry.names() if app else ())


def _store(app: App | None, url: str | None) -> Store:
    from penstock.engines import open_store

    return app.store if app is not None and url is None else open_store(required(url), create=False)


def _load(target: str) -> tuple[App | None, list[Finding]]:
    """The app, or what keeps it from being imported; a target that cannot be one is the caller's mistake."""
    from penstock.cli.input.load import load_app
    from penstock.store.contract import Finding

    try:
        app = load_app(target)
    except ConfigError:
        raise
    except PenstockError as error:
        return None, [Finding.from_error("app", error)]
    names = sorted(app.registry.names())
    more = ", …" if len(names) > NAMED_MAX else ""
    return app, [Finding("app", "ok", f"{target} declares {len(names)}: {', '.join(names[:NAMED_MAX])}{more}")]


def _show(findings: list[Finding], address: str | None) -> None:
    errors, warnings = (sum(finding.level == level for finding in findings) for level in ("error", "warning"))
    said = [plural(number, noun) for number, noun in ((errors, "error"), (warnings, "warning")) if number]
    seen = [ShownFinding(finding.level, finding.name, finding.message, finding.fix) for finding in findings]
    show(findings_table(seen), f"\n{' and '.join(said) or 'nothing is wrong'}" + (f" in {address}" if address else ""))
