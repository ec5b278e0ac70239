"""The shape of a handler's payload, read from its annotations: how to bind a call, encode, decode and call back."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from penstock.domain.errors import ConfigError, PayloadError
from penstock.domain.failure.interrupted import let_interrupt_out
from penstock.domain.payload import check_plain, decode_hook, encode_json

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Shape(Protocol):
    """What a payload looks like: by parameter name, or one object whose fields are the payload."""

    def bind(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The payload of a call. Raises TypeError as the call itself would."""
        ...

    def encode(self, what: str, bound: Any) -> str:
        """The payload as JSON, proved to decode to the handler's types."""
        ...

    def decode(self, text: str) -> Any:
        """What a stored payload holds, typed, or PayloadError."""
        ...

    def arguments(self, decoded: Any) -> tuple[Sequence[Any], dict[str, Any]]:
        """The arguments of the handler, positional and by name."""
        ...

    def one_argument(self, what: str) -> str | None:
        """The parameter that takes the only value of a call, None if there is no parameter. Two that must be given
        are a ConfigError."""
        ...


@dataclass(frozen=True, slots=True)
class Signature:
    """A payload that holds the handler's parameters by name."""

    names: tuple[str, ...]
    positional: tuple[str, ...]
    required: frozenset[str]
    untyped: frozenset[str]
    decoder: msgspec.json.Decoder[Any]
    call_positionally: int

    def bind(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if not kwargs and len(args) == len(self.names) == len(self.positional):
            return dict(zip(self.names, args, strict=True))
        if len(args) > len(self.positional):
            raise TypeError(
                f"{what}() takes at most {len(self.positional)} positional arguments, {len(args)} were given"
            )
        bound = dict(zip(self.positional, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.names:
                known = ", ".join(self.names) or "none"
                raise TypeError(f"{what}() has no parameter {name!r}; its parameters are: {known}")
            if name in bound:
                raise TypeError(f"{what}() got two values for {name!r}")
            bound[name] = value
        if not self.required <= bound.keys():
            missing = ", ".join(name for name in self.names if name in self.required and name not in bound)
            raise TypeError(f"{what}() misses: {missing}")
        return bound

    def encode(self, what: str, bound: dict[str, Any]) -> str:
        text = encode_json(bound, f"the payload of {what}")
        for name in self.untyped:
            if name in bound:
                check_plain(bound[name], f"argument {name!r} of {what}")
        self.decode(text)
        return text

    def decode(self, text: str) -> Any:
        return _decoded(self.decoder, text)

    def arguments(self, decoded: Any) -> tuple[Sequence[Any], dict[str, Any]]:
        values = msgspec.structs.asdict(decoded)
        if not self.call_positionally:
            return (), values
        return [values.pop(name) for name in self.names[: self.call_positionally]], values

    def one_argument(self, what: str) -> str | None:
        required = [name for name in self.names if name in self.required]
        if len(required) > 1:
            raise ConfigError(f"{what} needs {len(required)} arguments: {', '.join(required)}")
        return next(iter(required or self.names), None)


@dataclass(frozen=True, slots=True)
class OneObject:
    """A payload that is one object: its fields are the fields of the payload."""

    name: str
    decoder: msgspec.json.Decoder[Any]
    untyped: bool

    def bind(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = (*args, *kwargs.values())
        if len(given) != 1 or set(kwargs) - {self.name}:
            raise TypeError(f"{what}() takes one argument, {self.name!r}")
        return given[0]

    def encode(self, what: str, bound: Any) -> str:
        text = encode_json(bound, f"the payload of {what}")
        if not text.startswith("{"):
            raise PayloadError(f"the payload of {what} is a {type(bound).__name__}, not an object with fields")
        if self.untyped:
            check_plain(bound, f"the payload of {what}")
        self.decode(text)
        return text

    def decode(self, text: str) -> Any:
        return _decoded(self.decoder, text)

    def arguments(self, decoded: Any) -> tuple[Sequence[Any], dict[str, Any]]:
        return (decoded,), {}

    def one_argument(self, what: str) -> str | None:
        return self.name


def _decoded(decoder: msgspec.json.Decoder[Any], text: str) -> Any:
    try:
        return decoder.decode(text)
    except Exception as error:  # The types' own code runs here (validators, __post_init__) and may raise anything.
        let_interrupt_out(error)
        why = str(error) or type(error).__name__
        raise PayloadError(f"the payload does not fit the handler's parameters: {why}") from None


def signature_of(function: Callable[..., Any], skip_first: bool) -> Signature:
    """Read the payload's shape from the handler's parameters. Refuses what cannot be stored by name."""
    parameters = list(inspect.signature(function).parameters.values())[1 if skip_first else 0 :]
    hints = handler_hints(function)
    fields: list[Any] = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise ConfigError(
                f"{function.__qualname__} takes {star}{parameter.name}: a payload needs named parameters; "
                f"use one parameter of type {'list' if star == '*' else 'dict'} instead"
            )
        kind = hints.get(parameter.name, Any)
        if parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            fields.append((parameter.name, kind, _default(parameter.default)))
    names = tuple(p.name for p in parameters)
    return Signature(
        names=names,
        positional=tuple(p.name for p in parameters if p.kind in POSITIONAL),
        required=frozenset(p.name for p in parameters if p.default is p.empty),
        untyped=frozenset(name for name in names if _is_plain_hint(hints.get(name, Any))),
        decoder=_payload_decoder(function, fields),
        call_positionally=sum(p.kind is p.POSITIONAL_ONLY for p in parameters),
    )


def shape_of_one(function: Callable[..., Any], name: str, kind: Any) -> Shape:
    """The shape of a payload that is a single value: its own fields if it is an object, else under `name`."""
    if _is_object(kind):
        try:
            decoder = msgspec.json.Decoder(kind, dec_hook=decode_hook)
        except (TypeError, ValueError, NameError) as error:
            raise ConfigError(f"the payload of {function.__qualname__} cannot be stored as JSON: {error}") from None
        return OneObject(name, decoder, kind is dict)
    return Signature(
        names=(name,),
        positional=(name,),
        required=frozenset({name}),
        untyped=frozenset({name} if _is_plain_hint(kind) else ()),
        decoder=_payload_decoder(function, [(name, kind)]),
        call_positionally=1,
    )


def _is_object(kind: Any) -> bool:
    """Whether values of this type are JSON objects with named fields."""
    base = typing.get_origin(kind) or kind
    if not isinstance(base, type):
        return False
    if issubclass(base, msgspec.Struct):
        return not base.__struct_config__.array_like
    return issubclass(base, dict) or dataclasses.is_dataclass(base) or hasattr(base, "model_validate")


def _default(value: Any) -> Any:
    """A default that each decode gets afresh where it could be changed in place."""
    if isinstance(value, (list, dict, set, bytearray)):
        return msgspec.field(default_factory=lambda: copy.copy(value))
    return msgspec.field(default=value)


def _payload_decoder(function: Callable[..., Any], fields: list[Any]) -> msgspec.json.Decoder[Any]:
    try:
        struct = msgspec.defstruct("Payload", fields, kw_only=True)
        return msgspec.json.Decoder(struct, dec_hook=decode_hook)
    except (TypeError, ValueError, NameError) as error:
        raise ConfigError(f"the parameters of {function.__qualname__} cannot be stored as JSON: {error}") from None


def _is_plain_hint(hint: Any) -> bool:
    """Whether the annotation says nothing about the JSON type: Any, object, bare dict and list."""
    return hint in (Any, object, dict, list) or (
        typing.get_origin(hint) in (typing.Union, types.UnionType) and Any in typing.get_args(hint)
    )


def result_type_of(function: Callable[..., Any]) -> Any:
    """The annotated return type where results should be decoded to it, else None."""
    return decodable(handler_hints(function).get("return"))


def decodable(hint: Any) -> Any:
    """The type if JSON can be decoded to it and it says more than JSON does, else None."""
    if hint is None or hint is type(None) or _is_plain_hint(hint):
        return None
    try:
        msgspec.json.Decoder(hint, dec_hook=decode_hook)
    except (TypeError, ValueError):
        return None
    return hint


def handler_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a handler, resolved. Names that exist only while type checking are an error."""
    target = inspect.unwrap(function)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except NameError as error:
        raise ConfigError(
            f"an annotation of {function.__qualname__} cannot be resolved: {error}; import it at run time, "
            "outside of `if TYPE_CHECKING`, so that payloads can be decoded"
        ) from None
