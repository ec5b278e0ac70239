"""Who takes part: the peers that were installed, and penstock on each engine, with default history and with none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from benchmarks.peer_bench.catalogue import COMMITTED, ENGINE_NAMES, Engine, Facts, Part, Peer
from benchmarks.peer_bench.environments import Installed

SCRIPTS = Path(__file__).parent / "contestants"
History = Literal["default", "none"]
HISTORY_NAMES: dict[History, str] = {"default": "default history", "none": "no history"}
BESIDE: dict[Engine, Engine] = {"postgres": "postgres", "redis": "postgres", "sqlite": "sqlite"}
"""On which engine penstock runs beside a peer."""
OUR_PARTS: tuple[Part, ...] = ("single", "single_plain", "bulk", "drain", "drain2", "pickup")
HISTORY_PARTS: tuple[Part, ...] = ("drain", "drain2")
"""What the history has a part in: enqueueing is the same with any."""


@dataclass(frozen=True)
class Contestant:
    """`name` is for programs, `title` for people. `parts` are all that can be measured of it."""

    name: str
    title: str
    engine: Engine
    command: tuple[str, ...]
    runtime: str
    facts: Facts
    parts: tuple[Part, ...]
    share: float = 1.0
    plain: bool = False
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def has_bulk(self) -> bool:
        return "bulk" in self.parts


def peer_contestant(peer: Peer, installed: Installed) -> Contestant:
    where = {"CONTEST_NODE": str(installed.folder)} if peer.is_node else {}
    return Contestant(
        name=peer.name,
        title=f"{peer.name} {installed.version}",
        engine=peer.engine,
        command=(str(installed.program), str(SCRIPTS / peer.script)),
        runtime=installed.runtime,
        facts=peer.facts,
        parts=peer.parts,
        share=peer.share,
        plain=peer.plain,
        environment={**peer.environment, **where},
    )


def our_name(engine: Engine, history: History) -> str:
    return f"penstock-{BESIDE[engine]}{'-no-history' if history == 'none' else ''}"


def penstock(installed: Installed) -> list[Contestant]:
    engines: Sequence[Engine] = ("postgres", "sqlite")
    histories: Sequence[History] = ("default", "none")
    return [_penstock(installed, engine, history) for engine in engines for history in histories]


def _penstock(installed: Installed, engine: Engine, history: History) -> Contestant:
    return Contestant(
        name=our_name(engine, history),
        title=f"penstock {installed.version}, {ENGINE_NAMES[engine]}, {HISTORY_NAMES[history]}",
        engine=engine,
        command=(str(installed.program), str(SCRIPTS / "run_penstock.py")),
        runtime=installed.runtime,
        facts=_our_facts(engine, history),
        parts=OUR_PARTS,
        environment={"CONTEST_ENGINE": engine, "CONTEST_HISTORY": history},
    )


def _our_facts(engine: Engine, history: History) -> Facts:
    kept = {"default": "the job with its outcome, for 7 days", "none": "nothing: removed when it completes"}
    return Facts(
        durable=COMMITTED if engine == "postgres" else "yes (SQLite, full sync)",
        keeps=kept[history],
        batches="claims and completions, as many as there are",
        concurrency="50 at once (default), uvloop",
        handler="async function with typed arguments, once per job",
    )
