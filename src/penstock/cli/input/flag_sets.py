"""Flags that several commands share, as one parameter: a command that takes `flags: JobFlags` has every one of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer is to see it: where it takes a set of flags, its signature has each of them instead.

    A set is a dataclass whose fields are options of typer with their defaults.
    """
    hints = get_type_hints(command, include_extras=True)
    sets: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made = {name: kind(**{one.name: given.pop(one.name) for one in fields(kind)}) for name, kind in sets.items()}
        command(**given, **made)

    def parameters() -> Iterator[Parameter]:
        for name, parameter in signature(command).parameters.items():
            if name in sets:
                yield from _flags(sets[name])
            else:
                yield parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)

    run.__signature__ = Signature(list(parameters()))  # type: ignore[attr-defined]
    return run


def _flags(kind: Any) -> Iterator[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        yield Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
