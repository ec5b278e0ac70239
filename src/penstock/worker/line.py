"""The lines of work of a worker: which types share slots, and how many slots each line has."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.domain.registry import Batching, Declaration, Registry
from penstock.worker.settings import WorkerSettings


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
