"""Payloads: strict on the way in, typed and forgiving on the way out."""

from __future__ import annotations

import dataclasses
import functools
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NewType

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.domain.errors import ConfigError, PayloadError, PayloadTooLarge
from penstock.domain.payload import (
    DEPTH_MAX,
    check_plain,
    decode_json,
    encode_json,
    from_plain,
)
from penstock.domain.signature import handler_hints, result_type_of, signature_of

if TYPE_CHECKING:
    from decimal import Context as OnlyWhileChecking


@dataclasses.dataclass
class Point:
    x: int
    y: float | None = None


class Text(msgspec.Struct):
    words: list[str]


class Model(pydantic.BaseModel):
    at: datetime
    count: int = 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)  # fmt: skip


# JSON in


@given(json_values)
def test_json_values_come_back_as_they_were(value: Any) -> None:
    assert decode_json(encode_json(value, "it")) == value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (object(), "not JSON"),
        ({"f": lambda: 1}, "not JSON"),
        (float("nan"), "nan"),
        ({"x": [1.0, float("inf")]}, "inf"),
        ({"x": (float("-inf"), None)}, "inf"),
        (Point(1, float("nan")), "nan"),
        ([Text(["a"]), {float("nan")}], "nan"),
        (pydantic.TypeAdapter, "not JSON"),
        ("\ud800", "surrogate"),
        ({"\udfff": 1}, "surrogate"),
        ({(1, 2): 3}, "not JSON"),
        (1j, "not JSON"),
    ],
)
def test_what_json_would_change_is_refused(value: Any, why: str) -> None:
    with pytest.raises(PayloadError, match=f"(?s)the thing .*{why}"):
        encode_json(value, "the thing")


def test_a_model_with_a_number_that_json_cannot_carry() -> None:
    class Loose(pydantic.BaseModel):
        value: float

    with pytest.raises(PayloadError, match="nan"):
        encode_json({"x": Loose(value=float("nan"))}, "it")


def test_null_structs_and_large_numbers_are_fine() -> None:
    assert decode_json(encode_json((1 << 70) + 1, "it")) == (1 << 70) + 1
    assert encode_json([None, Point(1), Text(["null"]), {"a": None}], "it")


def test_too_large() -> None:
    with pytest.raises(PayloadTooLarge, match=r"1,048,578 bytes; the limit is 1,048,576"):
        encode_json("x" * 1024 * 1024, "it")
    assert encode_json("x" * 98, "it", bytes_max=100)
    with pytest.raises(PayloadTooLarge):
        encode_json("x" * 99, "it", bytes_max=100)


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_too_deep() -> None:
    assert encode_json(nested(DEPTH_MAX - 1), "it")
    for value in (nested(DEPTH_MAX), nested(5000)):
        with pytest.raises(PayloadError, match="nested too deeply"):
            encode_json(value, "it")


def test_contains_itself() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(PayloadError, match="contains itself"):
        encode_json(value, "it")


def test_many_brackets_are_not_depth() -> None:
    assert encode_json([[]] * 1000, "it")
    assert encode_json({"text": '[{"\\' * 1000}, "it")
    assert encode_json([{"a": "]"}] * 300, "it")


def test_plain_values() -> None:
    check_plain({"a": [1, 2.0, "x", None, True, (1, {"b": []})]}, "it")
    for value, why in (({1: 2}, "key 1"), ([{"a": {"b": uuid.uuid4()}}], "UUID"), ({"a": {1}}, "set")):
        with pytest.raises(PayloadError, match=why):
            check_plain(value, "it")


# Results out


def test_results_as_their_type() -> None:
    assert from_plain(Point, {"x": 1}) == Point(1)
    assert from_plain(Model, {"at": "2030-01-01T00:00:00Z"}) == Model(at=datetime(2030, 1, 1, tzinfo=UTC))
    assert from_plain(list[Decimal], ["1.5"]) == [Decimal("1.5")]
    with pytest.raises(PayloadError, match="does not fit the handler's return type"):
        from_plain(Point, {"x": "one"})
    with pytest.raises(PayloadError):
        from_plain(Model, {"at": "never"})


def test_result_types() -> None:
    def typed() -> list[Point]:
        return []

    def nothing() -> None: ...
    def anything() -> Any: ...
    def unknown() -> dict[str, object] | Any: ...
    def not_json() -> type[Point]:
        return Point

    def unannotated(): ...  # type: ignore[no-untyped-def]

    assert result_type_of(typed) == list[Point]
    assert [result_type_of(f) for f in (nothing, anything, unknown, unannotated)] == [None] * 4
    assert result_type_of(not_json) in (None, type[Point])


# Signatures


def everything(
    when: datetime, wait: timedelta, who: uuid.UUID, price: Decimal, data: bytes, point: Point, text: Text,
    model: Model, tags: set[str], by_number: dict[int, str],
) -> None: ...  # fmt: skip


def test_typed_arguments_come_back_as_they_were() -> None:
    signature = signature_of(everything, skip_first=False)
    given: dict[str, Any] = {
        "when": datetime(2030, 1, 1, tzinfo=UTC), "wait": timedelta(hours=1), "who": uuid.uuid4(),
        "price": Decimal("9.90"), "data": b"\x00\xff", "point": Point(1, 2.5), "text": Text(["a"]),
        "model": Model(at=datetime(2030, 1, 1, tzinfo=UTC)), "tags": {"x"}, "by_number": {1: "one"},
    }  # fmt: skip
    decoded = signature.decode(signature.encode("job", signature.bind("job", (), given)))
    assert {name: getattr(decoded, name) for name in given} == given


def sample(a: int, b: str = "x", *, c: list[int] | None = None) -> None: ...


@pytest.mark.parametrize(
    ("args", "kwargs", "bound"),
    [
        ((1,), {}, {"a": 1}),
        ((1, "y"), {"c": [1]}, {"a": 1, "b": "y", "c": [1]}),
        ((), {"b": "z", "a": 1}, {"b": "z", "a": 1}),
    ],
)
def test_arguments_are_bound_by_name(args: Any, kwargs: Any, bound: Any) -> None:
    assert signature_of(sample, skip_first=False).bind("job", args, kwargs) == bound


@pytest.mark.parametrize(
    ("args", "kwargs", "why"),
    [
        ((), {}, "misses: a"),
        ((1, "y", [1]), {}, "at most 2 positional"),
        ((1,), {"a": 2}, "two values for 'a'"),
        ((1,), {"d": 2}, "no parameter 'd'; its parameters are: a, b, c"),
    ],
)
def test_wrong_calls_say_what_is_wrong(args: Any, kwargs: Any, why: str) -> None:
    with pytest.raises(TypeError, match=rf"job\(\) .*{why}"):
        signature_of(sample, skip_first=False).bind("job", args, kwargs)


def test_a_handler_without_parameters() -> None:
    def bare() -> None: ...

    signature = signature_of(bare, skip_first=False)
    assert signature.encode("job", signature.bind("job", (), {})) == "{}"
    with pytest.raises(TypeError, match="parameters are: none"):
        signature.bind("job", (), {"x": 1})


def test_an_argument_of_the_wrong_type_is_refused_at_enqueue() -> None:
    signature = signature_of(sample, skip_first=False)
    with pytest.raises(PayloadError, match="does not fit the handler's parameters"):
        signature.encode("job", {"a": "one"})


def test_an_untyped_argument_must_be_plain() -> None:
    def loose(x: Any, y: dict, z=None) -> None: ...  # type: ignore[type-arg, no-untyped-def]

    signature = signature_of(loose, skip_first=False)
    assert signature.encode("job", {"x": [1], "y": {"a": 1}})
    for bad in ({"x": uuid.uuid4(), "y": {}}, {"x": 1, "y": {1: 2}}, {"x": 1, "y": {}, "z": Point(1)}):
        with pytest.raises(PayloadError, match="of job"):
            signature.encode("job", bad)


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '{"a":"x"}', '{"b":"y"}', '{"a":1,"c":{}}', "\x00"])
def test_stored_texts_that_do_not_fit(text: str) -> None:
    with pytest.raises(PayloadError):
        signature_of(sample, skip_first=False).decode(text)


def test_a_rolling_deploy_may_add_and_leave_out_fields() -> None:
    decoded = signature_of(sample, skip_first=False).decode('{"a":1,"added_later":true}')
    assert (decoded.a, decoded.b, decoded.c) == (1, "x", None)


def test_a_default_is_fresh_for_every_job() -> None:
    def collect(items: list[int] = [], seen: dict[str, int] = {}) -> None: ...  # noqa: B006

    signature = signature_of(collect, skip_first=False)
    first, second = signature.decode("{}"), signature.decode("{}")
    first.items.append(1)
    assert second.items == []


def test_the_first_parameter_can_be_left_out() -> None:
    signature = signature_of(sample, skip_first=True)
    assert signature.names == ("b", "c")


def test_positional_only_parameters() -> None:
    def strict(a: int, /, b: int) -> None: ...

    signature = signature_of(strict, skip_first=False)
    assert signature.call_positionally == 1
    assert signature.bind("job", (1,), {"b": 2}) == {"a": 1, "b": 2}


def test_star_parameters_are_refused() -> None:
    def many(*items: int) -> None: ...
    def named(**items: int) -> None: ...

    with pytest.raises(ConfigError, match=r"takes \*items.*type list"):
        signature_of(many, skip_first=False)
    with pytest.raises(ConfigError, match=r"takes \*\*items.*type dict"):
        signature_of(named, skip_first=False)


def test_an_annotation_that_exists_only_while_type_checking() -> None:
    def lazy(x: OnlyWhileChecking) -> None: ...

    with pytest.raises(ConfigError, match="outside of `if TYPE_CHECKING`"):
        signature_of(lazy, skip_first=False)


def test_a_type_that_cannot_be_json() -> None:
    def odd(x: dict[str, int] | dict[int, str]) -> None: ...

    with pytest.raises(ConfigError, match="cannot be stored as JSON"):
        signature_of(odd, skip_first=False)


def test_a_type_that_nobody_can_decode() -> None:
    class Custom: ...

    def odd(x: Custom) -> None: ...

    odd.__annotations__["x"] = Custom
    signature = signature_of(odd, skip_first=False)
    with pytest.raises(PayloadError):
        signature.decode('{"x":1}')
    with pytest.raises(PayloadError):
        from_plain(Custom, {"x": 1})


def test_hints_see_through_wrappers_and_new_types() -> None:
    number = NewType("number", int)

    @functools.wraps(sample)
    def wrapped(*args: Any, **kwargs: Any) -> None: ...

    assert handler_hints(wrapped)["a"] is int
    assert number(1) == 1
