"""The list of commands. Each is imported when it is called, so that every one starts fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

# name: (module, what it defines there, one line for the overview)
COMMANDS = {
    "worker": ("penstock.cli.worker", "worker", "Run a worker until Ctrl-C or SIGTERM."),
    "coordinator": ("penstock.cli.coordinator", "coordinator", "Do what one does for all; run no jobs."),
    "start": ("penstock.cli.start", "start", "Run all that exists in one process."),
    "enqueue": ("penstock.cli.enqueue", "enqueue", "Enqueue a job by name and print its id."),
    "spread": ("penstock.cli.spread", "spread", "Stagger many jobs of one type over a period, once in each."),
    "jobs": ("penstock.cli.jobs", "jobs", "Look at jobs, follow them, cancel them, retry them."),
    "workflows": ("penstock.cli.workflows", "workflows", "Graphs of jobs: list, show as a tree, cancel, retry."),
    "dead": ("penstock.cli.dead", "dead", "Dead letters: jobs that will not be tried again by themselves."),
    "counts": ("penstock.cli.counts", "counts", "Count the jobs by state, type, queue, capability or tenant."),
    "capacity": ("penstock.cli.capacity", "capacity", "Say how many workers it takes to do what is pending."),
    "top": ("penstock.cli.top", "top", "Show what goes on right now, by type, queue, tenant or worker."),
    "queues": ("penstock.cli.queues", "queues", "List the queues, pause, resume and drain them."),
    "workers": ("penstock.cli.workers", "workers", "List the workers, drain and resize them."),
    "schedules": ("penstock.cli.schedules", "schedules", "List schedules, add, pause, change, remove and run them."),
    "recover": ("penstock.cli.recover", "recover", "Take back the jobs of workers that were silent for too long."),
    "alerts": ("penstock.cli.alerts", "alerts", "Alerts: list them, test who is told, silence them."),
    "config": ("penstock.cli.config", "config", "Show every setting and where it came from."),
    "migrate": ("penstock.cli.migrate", "migrate", "Make a store, or bring an old one to this version."),
    "health": ("penstock.cli.health", "health", "Say whether the store, its workers and its queues are well."),
    "metrics": ("penstock.cli.metrics", "metrics", "What Prometheus and Grafana are given: rules, a dashboard."),
    "doctor": ("penstock.cli.doctor", "doctor", "Say what is wrong with this machine or store."),
    "bench": ("penstock.cli.bench", "bench", "Measure enqueueing, draining and pickup latency."),
    "demo": ("penstock.cli.demo", "demo", "A tour of about thirty seconds that ends by itself."),
}
SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class Commands(TyperGroup):
    """A group whose commands are known by name and loaded on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, name, _ = COMMANDS[cmd_name]
        return built(cmd_name, getattr(import_module(module), name))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            nearest = difflib.get_close_matches(args[0], COMMANDS, n=1)
            ctx.fail(f"there is no command {args[0]!r}{f'; did you mean {nearest[0]!r}?' if nearest else ''}")
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _told_safely():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _told_safely():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, overview) for name, (_, _, overview) in COMMANDS.items()])


@contextmanager
def _told_safely() -> Iterator[None]:
    """What is said of a wrong use quotes it: an address in the wrong place must not tell its password."""
    try:
        yield
    except Exception as error:
        message = getattr(error, "message", None)
        if isinstance(message, str):
            from penstock.cli.output.say import quoting

            error.message = quoting(message, keep="\n\t")  # type: ignore[attr-defined]
        raise


def built(name: str, command: Any) -> Any:
    """The command, from a function or from a group of functions."""
    if isinstance(command, typer.Typer):
        group = typer.main.get_command(command)
        group.name = name
        return group
    alone = typer.Typer(add_completion=False, **{**SETTINGS, "no_args_is_help": False})
    alone.command(name)(command)
    return typer.main.get_command(alone)
