"""`penstock coordinator`: the duties that one process does for all, without running jobs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.flags import CoordinatorFlags
from penstock.cli.input.options import ConfigFile, StoreUrl
from penstock.cli.input.storage import found
from penstock.cli.running.banner import say_banner
from penstock.cli.running.guard import guarded
from penstock.domain.errors import ConfigError

if TYPE_CHECKING:
    from penstock.app import App
    from penstock.config.load import Config

END = "runs no jobs; Ctrl-C stops it"


@guarded
@with_flags
def coordinator(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[MODULE:APP]", help="Where the App is, such as tasks:app.", show_default=False),
    ] = None,
    *,
    store: StoreUrl = None,
    worker_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="Its name among the workers.  [default: host, pid and a random part]"),
    ] = None,
    flags: CoordinatorFlags,
    config: ConfigFile = None,
) -> None:
    """Do what one does for all; run no jobs. Until Ctrl-C or SIGTERM.

    Recovers the jobs of lost workers, ends what waited for too long or what no worker can run, fires schedules and
    removes old jobs, while no worker or other coordinator leads. Several of them take turns: one leads, the others
    wait.

    It needs no handlers: the store, by --store or by the config, is enough. With MODULE:APP it also installs the
    schedules that are declared there, and keeps ended jobs as long as that App says.

    \b
    penstock coordinator --store postgresql://user@host/database
    penstock coordinator tasks:app --log-format json
    """
    from penstock.config.load import load
    from penstock.observe import logs
    from penstock.program.loop import event_loop

    given = flags.given()
    settled = load(config, given)
    app = _app(target, store, settled)
    app.config = settled = (app.config or settled).with_flags(given)
    logs.configure(settled["log.level"], settled["log.format"])
    on_start = partial(say_banner, app, "coordinator", target, {}, END) if settled["log.format"] == "text" else None
    with app, event_loop() as runner:
        runner.run(app.run_coordinator(worker_id=worker_id, on_start=on_start))


def _app(target: str | None, store: str | None, config: Config) -> App:
    from penstock.app import App
    from penstock.cli.input.load import load_app
    from penstock.engines import open_store

    if target is None:
        address = store or config.store()
        return App(found(open_store(address, create=False), address))
    if store is not None:
        raise ConfigError(f"--store: {target} names its own store: leave out one of both")
    return load_app(target)
