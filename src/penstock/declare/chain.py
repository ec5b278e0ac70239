"""What may follow a job type by then(): another type, or a function of the result. Says what is wrong with it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from penstock.client.client import JobCall
from penstock.domain.errors import ConfigError
from penstock.domain.registry import Declaration

R_contra = TypeVar("R_contra", contravariant=True)

Calls = JobCall[Any] | Sequence[JobCall[Any]] | None
"""What a function given to then() may answer."""


class TakesResult(Protocol[R_contra]):
    """A job type, or its using(…), that can be enqueued with the result and nothing else."""

    def bind(self, result: R_contra, /) -> JobCall[Any]: ...


class TakesNothing(Protocol):
    """A job type, or its using(…), without parameters."""

    def bind(self) -> JobCall[Any]: ...


def calls_with_result(name: str, target: Declaration, bind: Callable[..., JobCall[Any]]) -> Callable[[Any], Calls]:
    """The call of the target with the result of `name` as its only argument."""
    try:
        parameter = target.signature.one_argument(target.name)
    except ConfigError as error:
        raise ConfigError(
            f"{name}.then({target.name}) hands on one value, the result, and {error}; give a function instead: "
            f"{name}.then(lambda result: {target.name}.bind(…))"
        ) from None
    if parameter is None:
        return lambda result: bind()
    return lambda result: bind(**{parameter: result})


def check_function(name: str, what: str, function: Any) -> None:
    """A plain function of one argument, the result."""
    if not callable(function):
        raise ConfigError(
            f"{name}.then() takes a job type, or a function that answers a call made by bind(), not {function!r}"
            if what == "function"
            else f"when={function!r} of {name}.then() is not possible: a function of the result that answers yes or no"
        )
    if inspect.iscoroutinefunction(function):
        raise ConfigError(f"the {what} of {name}.then() is async; it is asked at once: make it a plain def")
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        raise ConfigError(
            f"the {what} of {name}.then() is called with one argument, the result: write it like lambda result: …"
        ) from None
    except ValueError:
        pass  # A built-in that does not tell its parameters.
