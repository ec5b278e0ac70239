"""Payloads and results as JSON: strict on the way in, typed and forgiving on the way out (SPEC J4).

Never pickle. What JSON would silently change (NaN to null, a tuple key, a set without a type) is refused
when the job is enqueued, where the caller can still do something about it.
"""

from __future__ import annotations

import copy
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.domain.errors import ConfigError, PayloadError, PayloadTooLarge

PAYLOAD_BYTES_MAX = 1024 * 1024
DEPTH_MAX = 200
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _to_plain(value: Any) -> Any:
    """What msgspec does not know: pydantic models and whatever else offers the same method."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"{type(value).__module__}.{type(value).__qualname__}")


def _dec_hook(kind: type, value: Any) -> Any:
    validate = getattr(kind, "model_validate", None)
    if callable(validate):
        return validate(value)
    raise TypeError(f"values of type {kind.__qualname__} cannot be decoded from JSON")


_encoder = msgspec.json.Encoder(enc_hook=_to_plain)
_plain_decoder = msgspec.json.Decoder()


def encode_json(value: Any, what: str, bytes_max: int = PAYLOAD_BYTES_MAX) -> str:
    """The JSON text of `value`, or an error that names `what` and the fix."""
    try:
        data = _encoder.encode(value)
    except (TypeError, msgspec.MsgspecError, NotImplementedError) as error:
        raise PayloadError(f"{what} is not JSON: {error}; {_HELP}") from None
    except UnicodeEncodeError:
        raise PayloadError(f"{what} holds a lone surrogate, which is not valid text: clean it with "
                           "text.encode('utf-8', 'replace').decode()") from None  # fmt: skip
    except RecursionError:
        raise PayloadError(f"{what} is nested too deeply (or contains itself): at most {DEPTH_MAX} levels") from None
    except (ValueError, OverflowError) as error:
        raise PayloadError(f"{what} is not JSON: {error}; {_HELP}") from None
    if len(data) > bytes_max:
        raise PayloadTooLarge(
            f"{what} is {len(data):,} bytes; the limit is {bytes_max:,}: store the data elsewhere and pass a reference"
        )
    if b"null" in data:
        _refuse_not_a_number(value, what)
    if len(data) >= 2 * DEPTH_MAX and _depth_at_least(data, DEPTH_MAX):
        raise PayloadError(f"{what} is nested too deeply: at most {DEPTH_MAX} levels")
    return data.decode()


_HELP = "use JSON types, dataclasses, msgspec or pydantic models, datetimes, UUIDs, Decimal or bytes"


def decode_json(text: str | bytes) -> Any:
    """The plain value of a stored JSON text."""
    return _plain_decoder.decode(text)


def from_plain(kind: Any, value: Any) -> Any:
    """A decoded JSON value as the type that a handler's annotation names."""
    try:
        return msgspec.convert(value, kind, dec_hook=_dec_hook)
    except (msgspec.ValidationError, TypeError, ValueError, NotImplementedError) as error:
        raise PayloadError(f"the stored result does not fit the handler's return type: {error}") from None


def _refuse_not_a_number(value: Any, what: str) -> None:
    """NaN and infinity become null in JSON; null in the data is the only sign, so look only then."""
    for item in _leaves(value):
        if isinstance(item, float) and not math.isfinite(item):
            raise PayloadError(f"{what} holds {item}, which JSON cannot carry: use None or a text instead")


def _leaves(value: Any) -> Iterator[Any]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, (list, tuple, set, frozenset)):
            stack.extend(item)
        elif isinstance(item, msgspec.Struct):
            stack.extend(getattr(item, name) for name in item.__struct_fields__)
        elif hasattr(type(item), "__dataclass_fields__"):
            stack.extend(getattr(item, name) for name in type(item).__dataclass_fields__)
        elif hasattr(item, "model_dump"):
            stack.append(item.model_dump())
        else:
            yield item


def _depth_at_least(data: bytes, limit: int) -> bool:
    """Whether the JSON is nested to `limit` levels. Counts brackets only when there are enough of them."""
    if data.count(b"[") + data.count(b"{") < limit:
        return False
    depth = 0
    in_text = escaped = False
    for byte in data:
        if in_text:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_text = False
        elif byte == 0x22:
            in_text = True
        elif byte in (0x5B, 0x7B):
            depth += 1
            if depth >= limit:
                return True
        elif byte in (0x5D, 0x7D):
            depth -= 1
    return False


@dataclass(frozen=True, slots=True)
class Signature:
    """The payload of a handler: its parameters by name, and how to call it with them."""

    names: tuple[str, ...]
    positional: tuple[str, ...]
    required: frozenset[str]
    untyped: frozenset[str]
    decoder: msgspec.json.Decoder[Any]
    call_positionally: int

    def bind(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The payload of a call, by parameter name. Raises TypeError as the call itself would."""
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
        """The payload as JSON, proved to decode to the handler's types."""
        text = encode_json(bound, f"the payload of {what}")
        for name in self.untyped:
            if name in bound:
                check_plain(bound[name], f"argument {name!r} of {what}")
        self.decode(text)
        return text

    def decode(self, text: str) -> Any:
        """The arguments of a stored payload, as an object with one attribute per parameter."""
        try:
            return self.decoder.decode(text)
        except (msgspec.MsgspecError, ValueError, TypeError, RecursionError, NotImplementedError) as error:
            raise PayloadError(f"the payload does not fit the handler's parameters: {error}") from None


def check_plain(value: Any, what: str) -> None:
    """Without a type, a value must come back from JSON as it was: plain types and text keys only."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    raise PayloadError(f"{what} has the key {key!r}, which JSON would turn into text: "
                                       "use text keys, or annotate the parameter (such as dict[int, str])")  # fmt: skip
            stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend(item)
        elif item is not None and not isinstance(item, (str, int, float, bool)):
            raise PayloadError(f"{what} holds a {type(item).__name__}, which JSON would change: use JSON types, or "
                               "annotate the handler's parameter with its type so that it is decoded back")  # fmt: skip


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
        positional=tuple(p.name for p in parameters if p.kind in _POSITIONAL),
        required=frozenset(p.name for p in parameters if p.default is p.empty),
        untyped=frozenset(name for name in names if _is_plain_hint(hints.get(name, Any))),
        decoder=_payload_decoder(function, fields),
        call_positionally=sum(p.kind is p.POSITIONAL_ONLY for p in parameters),
    )


def _default(value: Any) -> Any:
    """A default that each decode gets afresh where it could be changed in place."""
    if isinstance(value, (list, dict, set, bytearray)):
        return msgspec.field(default_factory=lambda: copy.copy(value))
    return msgspec.field(default=value)


def _payload_decoder(function: Callable[..., Any], fields: list[Any]) -> msgspec.json.Decoder[Any]:
    try:
        struct = msgspec.defstruct("Payload", fields, kw_only=True)
        return msgspec.json.Decoder(struct, dec_hook=_dec_hook)
    except (TypeError, ValueError, NameError) as error:
        raise ConfigError(f"the parameters of {function.__qualname__} cannot be stored as JSON: {error}") from None


def _is_plain_hint(hint: Any) -> bool:
    """Whether the annotation says nothing about the JSON type: Any, object, bare dict and list."""
    return hint in (Any, object, dict, list) or (
        typing.get_origin(hint) in (typing.Union, types.UnionType) and Any in typing.get_args(hint)
    )


def result_type_of(function: Callable[..., Any]) -> Any:
    """The annotated return type where results should be decoded to it, else None."""
    hint = handler_hints(function).get("return")
    if hint is None or hint is type(None) or _is_plain_hint(hint):
        return None
    try:
        msgspec.json.Decoder(hint, dec_hook=_dec_hook)
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
