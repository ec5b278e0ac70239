"""What `worker` and `start` do: settle the config, then run one worker here or several under a supervisor."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from penstock.cli.output.say import say
from penstock.cli.running.banner import say_banner
from penstock.config.keys import BY_NAME, CONFIG_VARIABLE
from penstock.domain.errors import ConfigError, PenstockError
from penstock.program.codes import FAILED, RECYCLED
from penstock.worker.liveness.health_address import OFF

if TYPE_CHECKING:
    from penstock.app import App
    from penstock.config.load import Config
    from penstock.worker.settings import WorkerSettings

Flags = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Order:
    """What was asked for on the command line."""

    command: str
    target: str
    flags: Flags
    burst: bool
    reload: bool
    supervised: bool
    metrics: int | None
    """The number of the socket on which the supervisor asks for metrics."""


def run(command: str, target: str, flags: Flags, *, config: str | None, burst: bool, reload: bool) -> None:
    """Run workers to their end, and leave with what that end was."""
    from penstock.cli.input.load import load_app
    from penstock.config.load import load
    from penstock.supervisor.lifeline import stop_when_supervisor_dies
    from penstock.worker.liveness.metrics_channel import told_by_supervisor

    order = Order(command, target, flags, burst, reload, stop_when_supervisor_dies(), told_by_supervisor())
    settled = load(config, flags)
    if config and settled.file:
        os.environ[CONFIG_VARIABLE] = settled.file  # An App.from_config() and every child process read the same.
    _supervise_if_needed(order, settled)
    app = load_app(target)
    if app.config is not None:
        settled = _own_config(app.config, target, config).with_flags(flags)
        _supervise_if_needed(order, settled)
    elif settled["queue.ttl"] is not None:
        say(f"note: queue.ttl is for an App.from_config(); {target} is an App(…): give its types ttl=", err=True)
    app.config = settled
    _work(app, order, settled)


def _own_config(own: Config, target: str, given: str | None) -> Config:
    """The config that the App was made from; another one beside it would be ignored, so it is refused."""
    if given and own.file != os.path.abspath(given):
        raise ConfigError(
            f"--config: {target} reads {own.file} itself, by App.from_config(path): leave out one of both"
        )
    return own


def _supervise_if_needed(order: Order, config: Config) -> None:
    """Several processes, a reload and a replacement of the process need one above them; its end is ours."""
    needed = config["worker.processes"] > 1 or order.reload or config["worker.max_jobs"] or config["worker.max_memory"]
    if order.supervised or not needed:
        return
    from penstock.observe import logs
    from penstock.supervisor import supervise

    logs.configure(config["log.level"], config["log.format"], processes=True)
    raise typer.Exit(
        supervise(
            command_of_one(order, config),
            processes=config["worker.processes"],
            shutdown_timeout=config["worker.shutdown_timeout"],
            burst=order.burst,
            reload=order.reload,
            worker_id=config["worker.id"],
            health=config["worker.health"] or OFF,
            metrics=config["metrics.address"] or OFF,
            metrics_prefix=config["metrics.prefix"],
        )
    )


def command_of_one(order: Order, config: Config) -> list[str]:
    """The argv of one worker process under the supervisor, which gives each an id and asks it for its metrics."""
    flags = {name: value for name, value in order.flags.items() if name not in ("worker.processes", "worker.id")}
    if config["metrics.address"] is not None:
        flags["metrics.address"] = OFF  # There is one address for all, and it is the supervisor's.
    if config["worker.processes"] > 1 and config["worker.process_slots"] is None:
        from penstock.worker.settings import cores

        flags["worker.process_slots"] = str(max(1, cores() // config["worker.processes"]))
    words = [f"{BY_NAME[name].flag}={value}" for name, value in flags.items() if value is not None]
    return [sys.executable, "-m", "penstock", order.command, order.target, *words, *["--burst"] * order.burst]


def _work(app: App, order: Order, config: Config) -> None:
    from penstock.observe import logs
    from penstock.worker.settings import make_settings

    logs.configure(config["log.level"], config["log.format"], processes=order.supervised)
    settings = make_settings(**config.worker_settings(), burst=order.burst, metrics_channel=order.metrics)
    try:
        shown = not order.supervised and config["log.format"] == "text"
        replace = _run_loop(app, settings, (lambda: _banner(app, order.target, settings)) if shown else None)
    except PenstockError:
        raise
    except Exception:
        import logging

        logging.getLogger("penstock.worker").exception("the worker failed")
        raise typer.Exit(FAILED) from None
    finally:
        app.close()
    if replace:
        raise typer.Exit(RECYCLED)


def _banner(app: App, target: str, settings: WorkerSettings) -> None:
    facts = {
        "slots": str(settings.concurrency),
        "types": ", ".join(settings.types or sorted(declaration.name for declaration in app.registry)),
        "queues": ", ".join(settings.queues) if settings.queues else "all",
        "capabilities": ", ".join(settings.capabilities),
    }
    end = "stops when nothing is left" if settings.burst else "Ctrl-C stops it in order; a second one at once"
    say_banner(app, f"worker {settings.worker_id}", target, facts, end)


def _run_loop(app: App, settings: WorkerSettings, on_start: Callable[[], None] | None) -> bool:
    """Whether the worker wants to be replaced by a fresh process."""
    import asyncio

    from penstock.program.loop import event_loop

    code, replace = FAILED, False
    with event_loop() as runner:
        try:
            worker = app.run_worker(
                burst=settings.burst,
                worker_id=settings.worker_id,
                metrics_channel=settings.metrics_channel,
                on_start=on_start,
            )
            replace = bool(runner.run(worker))
            code = RECYCLED if replace else 0
        finally:
            if asyncio.all_tasks(runner.get_loop()):
                _leave_at_once(app, code)
    return replace


def _leave_at_once(app: App, code: int) -> None:
    """A handler ignores its cancellation and would keep this process for ever. Its job was given back; go."""
    app.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
