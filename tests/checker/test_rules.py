"""The checker itself: a good history passes every rule, and each bad one is caught by the rule that it breaks."""

from __future__ import annotations

import pytest

from tests.checker.bad import BAD, Bad
from tests.checker.check import PromiseBroken, check, must_hold, violations
from tests.checker.good import good_story
from tests.checker.rules import ALL, Rule
from tests.checker.rules.pickup import pickups
from tests.checker.story import Story


def test_a_good_history_passes() -> None:
    assert violations(good_story().case) == []


def test_the_good_history_is_long_enough_to_mean_something() -> None:
    """Every kind of evidence that a rule looks at is in it."""
    case = good_story().case
    for op in ("enqueue", "claim", "start", "finish", "begin_once", "end_once", "recover", "give_back", "cancel",
               "retry_dead", "pause_work", "resume_work", "lead", "duty", "enqueue_workflow", "cancel_workflow",
               "retry_workflow", "settle", "schedule"):  # fmt: skip
        assert case.history.of(op), op
    for op in ("run", "effect", "killed", "paused", "resumed"):
        assert case.history.notes(op), op
    assert [pickup.waited_us is not None for pickup in pickups(case)] == [True, True, True]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_a_bad_history_is_caught_by_its_rule_and_no_other(bad: Bad) -> None:
    found = {violation.rule for violation in violations(bad.story().case)}
    assert found == {bad.rule, *bad.also}


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
def test_every_rule_has_a_bad_history_of_its_own(rule: Rule) -> None:
    assert any(bad.rule == rule.name and not bad.also for bad in BAD)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
def test_every_rule_states_its_promise(rule: Rule) -> None:
    assert rule.promise.endswith(".")
    assert len(rule.promise) > 20


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_the_events_behind_a_violation_are_of_the_history(bad: Bad) -> None:
    story = bad.story()
    for violation in violations(story.case):
        assert all(event in story.events for event in violation.events)
        assert violation.events or bad.rule == "conservation" or "conservation" in bad.also or not story.events


def test_the_first_violation_is_the_earliest() -> None:
    """A job is missing at the end, and long before that a token went back."""
    story = Story()
    story.enqueue("missing", "two", "three")
    for id, token in (("two", 2), ("three", 1)):
        story.claim("w1", (id, token, 1))
        story.complete("w1", id, token)
        story.stored(id)
    found = check(story.events, story.truth)
    assert found is not None
    assert found.rule == "tokens grow"


def test_only_the_rules_that_are_asked_for_are_looked_at() -> None:
    story = Story()
    story.enqueue("job")
    others = [rule for rule in ALL if rule.name not in ("no loss", "conservation")]
    assert check(story.events, story.truth, others) is None
    assert check(story.events, story.truth) is not None


def test_a_broken_promise_is_raised_with_its_report() -> None:
    story = Story()
    story.enqueue("job")
    with pytest.raises(PromiseBroken, match="BROKEN: no loss") as caught:
        must_hold(story.events, story.truth, seed=7, replay="make simulate SEED=7")
    assert caught.value.violation.rule == "no loss"
    must_hold(good_story().events, good_story().truth, bounds=good_story().bounds)
