"""Payloads and results as JSON: strict on the way in, typed and forgiving on the way out (J4).

Never pickle. What JSON would silently change (NaN to null, a tuple key, a set without a type) is refused
when the job is enqueued, where the caller can still do something about it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.domain.errors import PayloadError, PayloadTooLarge
from penstock.domain.failure.interrupted import let_interrupt_out

PAYLOAD_BYTES_MAX = 1024 * 1024
DEPTH_MAX = 200


def _to_plain(value: Any) -> Any:
    """What msgspec does not know: pydantic models and whatever else offers the same method."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"{type(value).__module__}.{type(value).__qualname__}")


def decode_hook(kind: type, value: Any) -> Any:
    """What msgspec cannot decode by itself: pydantic models."""
    if kind is object:
        return value
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
        let_interrupt_out(error)
        raise PayloadError(f"{what} is not JSON: {error}; {_HELP}") from None
    except UnicodeEncodeError:
        raise PayloadError(f"{what} holds a lone surrogate, which is not valid text: clean it with "
                           "text.encode('utf-8', 'replace').decode()") from None  # fmt: skip
    except RecursionError:
        raise PayloadError(f"{what} is nested too deeply (or contains itself): at most {DEPTH_MAX} levels") from None
    except (ValueError, OverflowError) as error:
        let_interrupt_out(error)
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
        return msgspec.convert(value, kind, dec_hook=decode_hook)
    except (msgspec.ValidationError, TypeError, ValueError, NotImplementedError) as error:
        let_interrupt_out(error)
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
