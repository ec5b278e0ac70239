"""The errors behind an error."""

from __future__ import annotations

import urllib.error

import pytest

from penstock.domain.failure.causes import DEPTH_MAX, PARTS_MAX, chain, parts
from tests.unit.domain.http_shapes import HostileError


def raised_from(error: BaseException, cause: BaseException | None) -> BaseException:
    error.__cause__ = cause
    return error


def test_an_error_is_its_own_only_part() -> None:
    error = ValueError()
    assert parts(error) == [error]


def test_the_parts_of_nested_groups_in_their_order() -> None:
    one, two, three = ValueError("1"), KeyError("2"), OSError("3")
    assert parts(ExceptionGroup("outer", [one, ExceptionGroup("inner", [two]), three])) == [one, two, three]


def test_groups_are_looked_through_up_to_a_bound() -> None:
    wide = ExceptionGroup("wide", [ValueError() for _ in range(10 * PARTS_MAX)])
    assert len(parts(wide)) == PARTS_MAX
    group: Exception = ValueError()
    for _ in range(3 * DEPTH_MAX):
        group = ExceptionGroup("the same many times over", [group] * 50)
    assert len(parts(group)) == PARTS_MAX


class OddGroup(ExceptionGroup[Exception]):
    @property
    def exceptions(self) -> tuple[Exception]:
        raise RuntimeError("no parts")


def test_a_group_that_does_not_tell_its_parts_is_one() -> None:
    group = OddGroup("odd", [ValueError()])
    assert parts(group) == [group]


def test_the_chain_follows_explicit_causes() -> None:
    first = TimeoutError()
    middle = raised_from(KeyError(), first)
    last = raised_from(ValueError(), middle)
    assert list(chain(last)) == [last, middle, first]


def test_what_was_only_being_handled_is_no_cause() -> None:
    error = KeyError("a mistake of the handler")
    error.__context__ = TimeoutError()
    assert list(chain(error)) == [error]


def test_the_reason_of_urllib_is_a_cause() -> None:
    refused = ConnectionRefusedError()
    assert list(chain(urllib.error.URLError(refused)))[1] is refused
    assert len(list(chain(urllib.error.URLError("unknown url type")))) == 1


def test_a_ring_of_causes_ends() -> None:
    one, two = ValueError(), KeyError()
    raised_from(one, two)
    raised_from(two, one)
    assert len(list(chain(one))) == DEPTH_MAX


@pytest.mark.parametrize("look", [parts, lambda error: list(chain(error))])
def test_a_hostile_error_is_looked_at_without_harm(look: object) -> None:
    error = HostileError()
    (found,) = look(error)  # type: ignore[operator]
    assert found is error
