"""The shape of a payload, read from a handler's annotations: parameters by name, or one object with fields."""

from __future__ import annotations

import dataclasses
import functools
import uuid
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, NewType, TypedDict, TypeVar

import msgspec
import pytest

from penstock.domain.errors import ConfigError, PayloadError
from penstock.domain.payload import from_plain
from penstock.domain.signature import OneObject, handler_hints, result_type_of, shape_of_one, signature_of
from tests.unit.domain.shapes import Model, Point, Text

if TYPE_CHECKING:
    from decimal import Context as OnlyWhileChecking


# Parameters by name


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


# Results


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


# One object


class Words(TypedDict):
    words: list[str]


T = TypeVar("T")


@dataclasses.dataclass
class Box(Generic[T]):
    holds: T


class Row(msgspec.Struct, array_like=True):
    x: int


Pair = namedtuple("Pair", "x y")


def handler(data: Any) -> None: ...


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (Point, Point(1), '{"x":1,"y":null}'),
        (Text, Text(["a"]), '{"words":["a"]}'),
        (Model, Model(at=datetime(2030, 1, 1, tzinfo=UTC)), '{"at":"2030-01-01T00:00:00Z","count":1}'),
        (Words, {"words": ["a"]}, '{"words":["a"]}'),
        (Box[int], Box(1), '{"holds":1}'),
        (dict[int, str], {1: "one"}, '{"1":"one"}'),
        (dict, {"a": [1]}, '{"a":[1]}'),
    ],
    ids=str,
)
def test_an_object_is_the_payload_itself(kind: Any, value: Any, text: str) -> None:
    shape = shape_of_one(handler, "data", kind)
    for args, kwargs in (((value,), {}), ((), {"data": value})):
        assert shape.encode("job", shape.bind("job", args, kwargs)) == text
    assert shape.arguments(shape.decode(text)) == ((value,), {})


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (int, 1, '{"data":1}'),
        (Point | None, None, '{"data":null}'),
        (list[Point], [Point(1)], '{"data":[{"x":1,"y":null}]}'),
        (Row, Row(1), '{"data":[1]}'),
        (Pair, Pair(1, 2), '{"data":[1,2]}'),
        (Any, {"a": 1}, '{"data":{"a":1}}'),
    ],
    ids=str,
)
def test_what_is_no_object_is_stored_under_its_name(kind: Any, value: Any, text: str) -> None:
    shape = shape_of_one(handler, "data", kind)
    assert shape.encode("job", shape.bind("job", (value,), {})) == text
    assert shape.arguments(shape.decode(text)) == ([value], {})


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((Point(1), Point(2)), {}), ((Point(1),), {"data": Point(1)}), ((), {"x": 1})]
)
def test_one_object_is_one_argument(args: Any, kwargs: Any) -> None:
    with pytest.raises(TypeError, match=r"job\(\) takes one argument, 'data'"):
        shape_of_one(handler, "data", Point).bind("job", args, kwargs)


def test_an_object_that_does_not_fit_is_refused_at_enqueue() -> None:
    shape = shape_of_one(handler, "data", Point)
    with pytest.raises(PayloadError, match="is a int, not an object with fields"):
        shape.encode("job", 7)
    with pytest.raises(PayloadError, match="does not fit"):
        shape.encode("job", {"x": "one"})
    with pytest.raises(PayloadError, match="holds a UUID"):
        shape_of_one(handler, "data", dict).encode("job", {"a": uuid.uuid4()})


def test_an_object_may_have_more_or_fewer_fields() -> None:
    shape = shape_of_one(handler, "data", Point)
    assert isinstance(shape, OneObject)
    assert shape.decode('{"x":1,"added_later":true}') == Point(1)
    with pytest.raises(PayloadError, match="missing required field `x`"):
        shape.decode("{}")


def test_an_object_whose_type_is_not_json() -> None:
    @dataclasses.dataclass
    class Odd:
        both: dict[str, int] | dict[int, str]

    with pytest.raises(ConfigError, match="the payload of handler cannot be stored as JSON"):
        shape_of_one(handler, "data", Odd)


def test_a_type_whose_own_code_raises() -> None:
    @dataclasses.dataclass
    class Picky:
        key: str

        def __post_init__(self) -> None:
            {"known": 1}[self.key]

    def takes(picky: Any) -> None: ...

    takes.__annotations__["picky"] = Picky
    assert shape_of_one(handler, "data", Picky).decode('{"key":"known"}') == Picky("known")
    for shape, text in (
        (shape_of_one(handler, "data", Picky), '{"key":"other"}'),
        (signature_of(takes, skip_first=False), '{"picky":{"key":"other"}}'),
    ):
        with pytest.raises(PayloadError, match="does not fit the handler's parameters: 'other'"):
            shape.decode(text)
