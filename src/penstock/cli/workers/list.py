"""`penstock workers`: who runs jobs, what each takes, and when it was last heard of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.tables import ago, fitted_table, plural, print_json, show, text
from penstock.cli.running.groups import is_for_subcommand
from penstock.cli.running.guard import guarded
from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.duration import format_size

if TYPE_CHECKING:
    from rich.text import Text

    from penstock.domain.options import Resources
    from penstock.store.contract import WorkerInfo

LOST_SECONDS = 3600.0
NAMES_MAX = 3
# A narrow terminal goes without these, in this order; --json has them all.
SPARE = ("version", "pid", "resources", "started", "capabilities", "queues", "slots", "host", "types")
STATUS_STYLES = {"active": "green", "draining": "cyan", "stale": "yellow", "failing": "red", "lost": "red"}


@guarded
def list_workers(
    ctx: typer.Context,
    everyone: Annotated[
        bool, typer.Option("--all", help="Also those that have ended, and those lost long ago.")
    ] = False,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """List the workers, drain and resize them.

    By itself it lists those alive, draining, and lost in the last hour: what each takes and when it was last heard of.
    One that is failing lives and does not answer probes: it gets no jobs until it does.

    Of resources it shows what the running jobs need and what there is, such as cpu=3/8.

    \b
    penstock workers --store sqlite:///jobs.db
    penstock workers --all --json
    penstock workers resize web-1 20
    """
    if is_for_subcommand(ctx):
        return
    with existing_store(store) as opened:
        listed = opened.list_workers().wait()
        address = opened.info.address
    found = [worker for worker in listed if everyone or _of_interest(worker)]
    if as_json:
        print_json({"workers": [_document(worker) for worker in found], "store": address})
    else:
        _show(found, len(listed) - len(found), address)


def _of_interest(worker: WorkerInfo) -> bool:
    alive = worker.status in ("active", "draining") or worker.failing
    return alive or (worker.status == "lost" and worker.silent < LOST_SECONDS)


def _document(worker: WorkerInfo) -> dict[str, Any]:
    import msgspec

    return {
        **msgspec.to_builtins(worker),
        "stale": worker.stale,
        "started_at": from_us(worker.started_at),
        "heartbeat_at": from_us(worker.heartbeat_at),
    }


def _show(found: list[WorkerInfo], ended: int, address: str) -> None:
    hidden = f"; {ended:,} that ended before: --all" if ended else ""
    if found:
        made = fitted_table([_row(worker) for worker in found], SPARE)
        others = [worker for worker in found if worker.coordinates]
        beside = f" and {plural(len(others), 'coordinator')}" if others else ""
        show(made, f"{plural(len(found) - len(others), 'worker')}{beside} in {address}{hidden}")
    else:
        show(f"no worker runs on {address}; start one: penstock worker MODULE:APP{hidden}")


def _row(worker: WorkerInfo) -> dict[str, Text]:
    started = worker.silent + (worker.heartbeat_at - worker.started_at) / MICROSECONDS
    return {
        "id": text(worker.id),
        "status": _status(worker),
        "host": text(worker.host),
        "pid": text(worker.pid),
        "slots": text("-" if worker.coordinates else worker.slots),
        "running": text(worker.jobs),
        "types": text("(coordinator)") if worker.coordinates else _names(worker.types),
        "queues": text("-") if worker.coordinates else _names(worker.queues),
        "capabilities": _names(worker.capabilities),
        "resources": _resources(worker),
        "heard of": text(ago(worker.silent)),
        "started": text(ago(started)),
        "version": text(worker.version),
    }


def _status(worker: WorkerInfo) -> Text:
    from rich.text import Text

    status = "stale" if worker.stale else "failing" if worker.failing and worker.status == "inactive" else worker.status
    return Text(status, style=STATUS_STYLES.get(status, ""))


def _names(names: tuple[str, ...] | None) -> Text:
    if names is None:
        return text("all")
    more = len(names) - NAMES_MAX
    return text(", ".join(names[:NAMES_MAX]) + (f" +{more}" if more > 0 else ""))


def _resources(worker: WorkerInfo) -> Text:
    """In use, of what it has."""
    from penstock.domain.options import NO_RESOURCES

    used, has = _amounts(worker.used), _amounts(worker.resources or NO_RESOURCES)
    return text(" ".join(f"{name}={used[name]}/{has[name]}" for name in has if has[name] != "0") or "-")


def _amounts(resources: Resources) -> dict[str, str]:
    return {"cpu": f"{resources.cpu:g}", "memory": format_size(resources.memory), "gpu": f"{resources.gpu:g}"}
