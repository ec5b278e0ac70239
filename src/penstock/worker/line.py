"""The lines of work of a worker: which types it serves, which share slots, and how many slots each line has."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from penstock.domain.errors import ConfigError
from penstock.domain.gates import whole_of
from penstock.domain.registry import Batching, Declaration, Registry
from penstock.worker.settings import WorkerSettings

log = logging.getLogger("penstock.worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Types that share slots. A line of a batch type has the slots of `calls` full calls."""

    types: tuple[str, ...]
    slots: int
    calls: int = 0
    batching: Batching | None = None
    processes: bool = False


def lines_of(registry: Registry, settings: WorkerSettings, served: tuple[str, ...]) -> list[Line]:
    """What shares the ordinary slots; what runs in processes; and each batch type by itself."""
    together: list[str] = []
    processes: list[str] = []
    lines: list[Line] = []
    batches: dict[Declaration, list[str]] = {}
    for name in served:
        declaration = registry.find(name)
        assert declaration is not None
        if declaration.batching is not None:
            batches.setdefault(declaration, []).append(name)
        else:
            (processes if declaration.runner == "process" else together).append(name)
    if together:
        lines.append(Line(types=tuple(together), slots=settings.concurrency))
    if processes:
        lines.append(Line(types=tuple(processes), slots=settings.process_slots, processes=True))
    for declaration, names in batches.items():
        lines.append(_batch_line(declaration, tuple(names), settings))
    return lines


def _batch_line(declaration: Declaration, names: tuple[str, ...], settings: WorkerSettings) -> Line:
    batching, apart = declaration.batching, declaration.runner == "process"
    assert batching is not None
    calls = settings.process_slots if apart else max(1, settings.concurrency // batching.size)
    calls = min(calls, declaration.options.worker_concurrency or calls)
    return Line(
        types=names,
        slots=calls * batching.size,
        calls=calls,
        batching=batching,
        processes=apart,
    )


def served_types(registry: Registry, settings: WorkerSettings) -> tuple[str, ...]:
    """The names of jobs that this worker may claim: never one without a handler."""
    known = registry.names()
    if not known:
        raise ConfigError("this app declares no jobs, so a worker would have nothing to do: declare one with @app.job")
    if settings.types is None:
        return known
    missing = [name for name in settings.types if name not in known]
    if missing:
        raise ConfigError(f"no handler is declared for: {', '.join(missing)}; declared are: {', '.join(sorted(known))}")
    return settings.types


def check_limited_types(registry: Registry, settings: WorkerSettings) -> None:
    """A limit for a type that is not here may be for another program on this store: the limits are those of all."""
    wholes = {whole_of(limit.key) for limit in settings.limits or ()}
    for name in sorted(name for kind, name in wholes if kind == "type"):
        declared = registry.find(name)
        if declared is None:
            known = ", ".join(sorted(one.name for one in registry))
            log.warning("the config limits type:%s, which this app does not have; its types are: %s", name, known)
        elif declared.name != name:
            raise ConfigError(f"the config limits type:{name}, an old name: write type:{declared.name}")
