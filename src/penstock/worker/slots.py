"""The slot groups of a worker: which types it serves, which of them share slots, and how many slots each group has."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from penstock.domain.errors import ConfigError
from penstock.domain.flow.gates import whole_of
from penstock.domain.flow.slots import SLOTS_MAX
from penstock.domain.options import NO_RESOURCES, Resources
from penstock.domain.registry import Batching, Declaration, Registry
from penstock.worker.settings import WorkerSettings

log = logging.getLogger("penstock.worker")

BATCH_MAX = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotGroup:
    """Types that share slots. The group of a batch type has the slots of `calls` full calls."""

    types: tuple[str, ...]
    slots: int
    calls: int = 0
    batching: Batching | None = None
    processes: bool = False


def slot_groups(registry: Registry, settings: WorkerSettings, served: tuple[str, ...]) -> list[SlotGroup]:
    """What shares the ordinary slots; what runs in processes; and each batch type by itself.

    It gathers for no longer than half of the start timeout: after all of it, what has not begun is given to others.
    """
    ordinary: list[str] = []
    processes: list[str] = []
    groups: list[SlotGroup] = []
    batches: dict[Declaration, list[str]] = {}
    for name in served:
        declaration = registry.find(name)
        assert declaration is not None
        if declaration.batching is not None:
            batches.setdefault(declaration, []).append(name)
        else:
            (processes if declaration.runner == "process" else ordinary).append(name)
    if ordinary:
        groups.append(SlotGroup(types=tuple(ordinary), slots=settings.concurrency))
    if processes:
        groups.append(SlotGroup(types=tuple(processes), slots=settings.process_slots, processes=True))
    for declaration, names in batches.items():
        groups.append(_batch_group(declaration, tuple(names), settings))
    return groups


def _batch_group(declaration: Declaration, names: tuple[str, ...], settings: WorkerSettings) -> SlotGroup:
    batching, apart = declaration.batching, declaration.runner == "process"
    assert batching is not None
    calls = settings.process_slots if apart else max(1, settings.concurrency // batching.size)
    calls = min(calls, declaration.options.worker_concurrency or calls)
    return SlotGroup(
        types=names,
        slots=calls * batching.size,
        calls=calls,
        batching=Batching(batching.size, min(batching.wait, settings.start_timeout / 2)),
        processes=apart,
    )


def slots_of(groups: list[SlotGroup], registry: Registry, settings: WorkerSettings) -> dict[str, int]:
    """How many jobs of a type run here at once, if no other type is in the way; of types for which that is not simply
    the concurrency.
    """
    found = {}
    for group in groups:
        for name in group.types:
            declaration = registry.find(name)
            assert declaration is not None
            options = declaration.options
            most = min(group.slots, options.worker_concurrency or group.slots, _that_fit(options.resources, settings))
            if most != settings.concurrency:
                found[name] = most
    return found


def _that_fit(needs: Resources, settings: WorkerSettings) -> int:
    """As many jobs with these needs as it has resources for."""
    has = settings.resources or NO_RESOURCES
    counts = [int(getattr(has, name) / need) for name in ("cpu", "memory", "gpu") if (need := getattr(needs, name)) > 0]
    return min(counts, default=SLOTS_MAX * BATCH_MAX)


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
