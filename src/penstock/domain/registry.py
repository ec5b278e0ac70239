"""The job types that a process knows: name → declaration. Jobs are looked up here and nowhere else."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from penstock.domain.errors import ConfigError
from penstock.domain.job import Progress
from penstock.domain.options import Options, check_name
from penstock.domain.signature import Shape

Runner = Literal["async", "thread", "process"]


@dataclass(frozen=True, slots=True)
class Batching:
    """How the jobs of a batch type are gathered: up to `size` in one call, waiting at most `wait` seconds."""

    size: int
    wait: float


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What is enqueued together with the completion of a job: the calls that `make` answers for its result.

    With `when`, only for results of which that is true.
    """

    make: Callable[[Any], Any]
    when: Callable[[Any], object] | None = None


class Hooks(Protocol):
    """What a handler class may say beside its work. Each may be plain or async, but is_retryable is plain."""

    def on_start(self, ctx: Any) -> Any: ...
    def on_complete(self, ctx: Any, result: Any) -> Any: ...
    def on_failed(self, ctx: Any, error: BaseException) -> Any: ...
    def on_progress(self, ctx: Any, progress: Progress) -> Any: ...
    def is_retryable(self, error: BaseException) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """A declared job type: its handler and everything that is known of it before the first job.

    `hooks` is the handler object of a class, None for a function. `hooked` names the hooks that it defines.
    `follow_ups` grows while the program declares them.
    """

    name: str
    function: Callable[..., Any]
    signature: Shape
    options: Options
    wants_context: bool
    is_async: bool
    runner: Runner = "thread"
    result_type: Any = None
    aliases: tuple[str, ...] = ()
    batching: Batching | None = None
    hooks: Hooks | None = None
    hooked: frozenset[str] = frozenset()
    follow_ups: list[FollowUp] = field(default_factory=list)


class Registry:
    """Declarations by name and alias. Two handlers under one name are an error."""

    def __init__(self) -> None:
        self._by_name: dict[str, Declaration] = {}

    def add(self, declaration: Declaration) -> None:
        for name in (declaration.name, *declaration.aliases):
            check_name(name, "job name")
            other = self._by_name.get(name)
            if other is not None:
                raise ConfigError(
                    f"two handlers are declared as {name!r}: {_place(other.function)} and "
                    f"{_place(declaration.function)}; give one of them another name="
                )
        for name in (declaration.name, *declaration.aliases):
            self._by_name[name] = declaration

    def find(self, name: str) -> Declaration | None:
        return self._by_name.get(name)

    def names(self) -> tuple[str, ...]:
        """Every name that a job may carry, aliases included."""
        return tuple(self._by_name)

    @property
    def size(self) -> int:
        """How many names there are. It only grows, so whoever has read them all knows whether there are more."""
        return len(self._by_name)

    def __iter__(self) -> Iterator[Declaration]:
        return iter(dict.fromkeys(self._by_name.values()))

    def __len__(self) -> int:
        return len(set(self._by_name.values()))


def _place(function: Callable[..., Any]) -> str:
    target = inspect.unwrap(function)
    code = getattr(target, "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return f"{target.__module__}.{target.__qualname__}{where}"
