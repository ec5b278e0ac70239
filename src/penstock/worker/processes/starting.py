"""What child processes are told before anything else."""

from __future__ import annotations

import sys

from penstock.observe import logs
from penstock.worker.processes.frames import OtherType, Start
from penstock.worker.served import ServedApp
from penstock.worker.settings import WorkerSettings


def start_of(app: ServedApp, settings: WorkerSettings, types: list[str], others: list[str]) -> Start:
    """What child processes must know that run these types, and the others if they can. An app that they cannot import
    means ConfigError.
    """
    declarations = [declaration for name in types if (declaration := app.registry.find(name)) is not None]
    modules = sorted({declaration.function.__module__ for declaration in declarations})
    return Start(
        path=[place for place in sys.path if isinstance(place, str)],
        app=app.place(),
        modules=modules,
        types=types,
        follow_ups=[len(declaration.follow_ups) for declaration in declarations],
        others=[
            OtherType(name, declaration.function.__module__, len(declaration.follow_ups))
            for name in others
            if (declaration := app.registry.find(name)) is not None
        ],
        max_jobs=settings.max_jobs,
        max_memory=settings.max_memory,
        log=logs.configured,
        history=settings.history,
    )
