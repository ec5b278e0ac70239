"""From a handler to its declaration: a function, a handler class, or a batch function. Says what is wrong with it."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Sequence as SequenceABC
from typing import Any, TypeVar

from penstock.domain.duration import Duration, parse_duration
from penstock.domain.errors import ConfigError
from penstock.domain.flow.gates import check_key, refuse_whole
from penstock.domain.options import Options, make_options
from penstock.domain.registry import Batching, Declaration, Runner
from penstock.domain.signature import (
    POSITIONAL,
    decodable,
    handler_hints,
    result_type_of,
    shape_of_one,
    signature_of,
)
from penstock.worker.running.batches import Failed
from penstock.worker.running.context import BatchContext, Context
from penstock.worker.running.handler import HOOKS, Handler

BATCH_SIZE_MAX = 10_000
RUNNERS = ("async", "thread", "process")


def declare_function(
    function: Callable[..., Any],
    defaults: Options,
    *,
    name: str | None = None,
    aliases: Iterable[str] = (),
    runner: Runner | None = None,
    **options: Any,
) -> Declaration:
    """A job whose handler is a function: its parameters are the payload."""
    _check_function(function, "@app.job takes a function or a subclass of penstock.Handler; app.register takes objects")
    if _first_is(function, BatchContext):
        raise ConfigError(
            f"{function.__qualname__} takes a BatchContext: declare it with @app.batch_job, or take Context"
        )
    wants_context = _first_is(function, Context)
    signature = signature_of(function, skip_first=wants_context)
    return Declaration(
        name=name or function.__name__,
        function=function,
        signature=signature,
        options=_options(defaults, options, frozenset(signature.names)),
        wants_context=wants_context,
        is_async=inspect.iscoroutinefunction(function),
        runner=_runner(function, runner),
        result_type=result_type_of(function),
        aliases=tuple(aliases),
    )


def declare_batch(
    function: Callable[..., Any],
    defaults: Options,
    *,
    size: int,
    wait: Duration,
    name: str | None = None,
    aliases: Iterable[str] = (),
    runner: Runner | None = None,
    **options: Any,
) -> Declaration:
    """A job whose handler takes a list of items, each the payload of one job, and returns a list of outcomes."""
    _check_function(function, "@app.batch_job takes a function")
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= BATCH_SIZE_MAX:
        raise ConfigError(f"size={size!r} is not possible: a whole number from 1 to {BATCH_SIZE_MAX}")
    wants_context = _first_is(function, BatchContext)
    return Declaration(
        name=name or function.__name__,
        function=function,
        signature=shape_of_one(function, "item", _item_type(function, wants_context)),
        options=_options(defaults, options, None),
        wants_context=wants_context,
        is_async=inspect.iscoroutinefunction(function),
        runner=_runner(function, runner),
        result_type=_outcome_type(function),
        aliases=tuple(aliases),
        batching=Batching(size, parse_duration(wait, "wait")),
    )


def declare_handler(
    handler: Handler[Any, Any],
    defaults: Options,
    *,
    name: str | None = None,
    aliases: Iterable[str] = (),
    runner: Runner | None = None,
    **options: Any,
) -> Declaration:
    """A job whose handler is an object with hooks: the fields of its data are the payload."""
    kind = type(handler)
    process = handler.process
    if kind.process is Handler.process:
        raise ConfigError(f"{kind.__qualname__} has no process(): define it with (self, ctx, data)")
    _check_function(process, f"{kind.__qualname__}.process must be a function")
    parameters = list(inspect.signature(process).parameters.values())
    if len(parameters) != 2 or any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in parameters):
        raise ConfigError(f"{kind.__qualname__}.process takes (self, ctx, data), and nothing else")
    hints = {name: hint for name, hint in handler_hints(process).items() if not _has_variables(hint)}
    data, result = (Any if _has_variables(one) else one for one in _handler_types(kind))
    return Declaration(
        name=name or kind.__name__,
        function=process,
        signature=shape_of_one(process, parameters[1].name, hints.get(parameters[1].name, data)),
        options=_options(defaults, options, None),
        wants_context=True,
        is_async=inspect.iscoroutinefunction(process),
        runner=_runner(process, runner),
        result_type=decodable(hints["return"]) if "return" in hints else decodable(result),
        aliases=tuple(aliases),
        hooks=handler,
        hooked=_hooked(kind),
    )


def _options(defaults: Options, given: dict[str, Any], parameters: frozenset[str] | None) -> Options:
    """Checked, with its keys against the handler's parameters, where those are known."""
    options = make_options(defaults, **given)
    for keyed in (options.limit, options.rate_limit, options.unique):
        if keyed is not None:
            check_key(keyed.key, parameters)
    for limit in (options.limit, options.rate_limit):
        if limit is not None:
            refuse_whole(limit.key)
    return options


def new_handler(kind: type[Handler[Any, Any]]) -> Handler[Any, Any]:
    """An object of a handler class that needs nothing."""
    try:
        inspect.signature(kind).bind()
    except TypeError as error:
        raise ConfigError(
            f"{kind.__qualname__} cannot be made without arguments ({error}): "
            f"register an object instead, such as app.register({kind.__name__}(…))"
        ) from None
    return kind()


def _check_function(function: Any, rule: str) -> None:
    if not inspect.isroutine(function):
        raise ConfigError(f"{rule}; this is {function!r}")
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise ConfigError(f"{function.__qualname__} is a generator; a handler returns once: return a list")


def _first_is(function: Callable[..., Any], kind: type) -> bool:
    parameters = list(inspect.signature(function).parameters.values())
    return bool(parameters) and handler_hints(function).get(parameters[0].name) is kind


def _runner(function: Callable[..., Any], asked: Runner | None) -> Runner:
    """Where the handler runs: async ones on the event loop, plain ones in a thread, unless a process is asked for."""
    natural: Runner = "async" if inspect.iscoroutinefunction(function) else "thread"
    if asked is None or asked == natural:
        return natural
    if asked not in RUNNERS:
        raise ConfigError(f"runner={asked!r} does not exist; use one of: {', '.join(RUNNERS)}")
    if asked != "process":
        kind, other = ("an async", "a plain def") if natural == "async" else ("a plain", "async def")
        raise ConfigError(
            f"runner={asked!r} does not fit {function.__qualname__}, which is {kind} function: "
            f"leave runner= out, or make it {other}"
        )
    _check_importable(function)
    return "process"


def _check_importable(function: Callable[..., Any]) -> None:
    """A child process finds a handler by importing its module, so it must be declared when that is imported."""
    target = inspect.unwrap(function)
    name = target.__qualname__
    if "<lambda>" in name:
        problem = "is a lambda"
    elif "<locals>" in name:
        problem = "is defined inside a function"
    elif target.__module__ == "__main__":
        problem = "is in the script that was started (__main__)"
    else:
        return
    raise ConfigError(
        f"{name} cannot run in a process: it {problem}, and a child process could not import it; "
        "move it to the top level of a module of its own"
    )


def _item_type(function: Callable[..., Any], wants_context: bool) -> Any:
    parameters = list(inspect.signature(function).parameters.values())[1 if wants_context else 0 :]
    name = function.__qualname__
    if len(parameters) != 1 or parameters[0].kind not in POSITIONAL:
        takes = ", ".join(str(parameter) for parameter in parameters)
        raise ConfigError(f"{name} takes ({takes}): a batch handler takes one list of items, or (BatchContext, list)")
    hint = handler_hints(function).get(parameters[0].name)
    if typing.get_origin(hint) not in (list, SequenceABC):
        raise ConfigError(
            f"{name} does not say what its items are: annotate the parameter {parameters[0].name!r} as list[ItemType]"
        )
    return typing.get_args(hint)[0]


def _outcome_type(function: Callable[..., Any]) -> Any:
    """The type of one result: what the returned list holds, without Failed."""
    hint = handler_hints(function).get("return")
    if hint is None or typing.get_origin(hint) not in (list, SequenceABC):
        return None
    one = typing.get_args(hint)[0]
    kinds = [kind for kind in (typing.get_args(one) or (one,)) if kind is not Failed]
    if len(kinds) == len(typing.get_args(one) or (one,)):
        return decodable(one)
    return decodable(typing.Union[tuple(kinds)]) if kinds else None  # noqa: UP007 — the kinds are known at run time


def _has_variables(hint: Any) -> bool:
    """Whether a type is not known here: a type variable, or made of some."""
    return isinstance(hint, TypeVar) or bool(getattr(hint, "__parameters__", ()))


def _handler_types(kind: Any) -> tuple[Any, Any]:
    """The types that a class names in Handler[Data, Result], itself or through its bases."""
    made = typing.get_origin(kind) or kind
    if made is Handler:
        data, result = typing.get_args(kind) or (Any, Any)
        return data, result
    given = dict(zip(getattr(made, "__parameters__", ()), typing.get_args(kind), strict=False))
    base = next(base for base in _bases(made) if issubclass(typing.get_origin(base) or base, Handler))
    data, result = (given.get(one, one) for one in _handler_types(base))
    return data, result


def _bases(kind: type) -> tuple[Any, ...]:
    """The bases as they are written, with what is in their brackets."""
    bases: tuple[Any, ...] = kind.__dict__.get("__orig_bases__", kind.__bases__)
    return bases


def _hooked(kind: type) -> frozenset[str]:
    """The hooks that the class defines itself."""
    if inspect.iscoroutinefunction(getattr(kind, "is_retryable", None)):
        raise ConfigError(f"{kind.__qualname__}.is_retryable is async; it is asked at once: make it a plain def")
    return frozenset(name for name in (*HOOKS, "is_retryable") if getattr(kind, name) is not getattr(Handler, name))
