"""Payloads: strict on the way in, typed and forgiving on the way out."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pydantic
import pytest
from hypothesis import given, strategies as st

from penstock.domain.errors import PayloadError, PayloadTooLarge
from penstock.domain.payload import (
    DEPTH_MAX,
    check_plain,
    decode_json,
    encode_json,
    from_plain,
)
from tests.unit.domain.shapes import Model, Point, Text

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
