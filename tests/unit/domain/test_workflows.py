"""Workflows by themselves: circles, ids, failure policies."""

from __future__ import annotations

import pytest

from penstock.domain.errors import ConfigError
from penstock.domain.job import State
from penstock.domain.workflows import (
    ON_FAILURE,
    StepInfo,
    check_on_failure,
    find_cycle,
    is_workflow,
    unknown_workflow,
    workflow_id,
)

MADE = "0198c0de-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    ("after", "cycle"),
    [
        ([], None),
        ([[], [0], [0], [1, 2]], None),
        ([[1], [2], []], None),
        ([[0]], [0]),
        ([[1], [0]], [0, 1]),
        ([[], [0, 3], [1], [2]], [1, 3, 2]),
    ],
)
def test_steps_that_wait_for_each_other_are_found_in_order(after: list[list[int]], cycle: list[int] | None) -> None:
    assert find_cycle(after) == cycle


def test_an_id_says_that_it_is_a_workflows() -> None:
    assert workflow_id(MADE) == "0198c0de-0000-8000-8000-000000000000"
    assert [is_workflow(one) for one in (workflow_id(MADE), MADE, None)] == [True, False, False]


def test_a_policy_that_does_not_exist_is_refused_with_those_that_do() -> None:
    assert [check_on_failure(one) for one in ON_FAILURE] == list(ON_FAILURE)
    with pytest.raises(ConfigError, match="on_failure='never' does not exist; use one of: "):
        check_on_failure("never")


def test_what_has_ended_of_a_step_is_counted() -> None:
    jobs = {State.COMPLETED: 2, State.DEAD: 1, State.RUNNING: 4}
    names = dict.fromkeys(StepInfo.__struct_fields__, ())
    step = StepInfo(**{**names, "name": "a", "size": 7, "begun": True, "jobs": jobs})  # type: ignore[arg-type]
    assert step.ended == 3


def test_a_workflow_that_is_not_there_is_named() -> None:
    assert MADE in str(unknown_workflow(MADE))
