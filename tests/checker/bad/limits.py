"""Two leaders, ticks that are fired twice, and limits that do not hold."""

from __future__ import annotations

from typing import Any

from tests.checker.bad.register import breaks, claimed
from tests.checker.events import UniqueAsked
from tests.checker.rules import Rate
from tests.checker.story import Story

# Leaders


@breaks("one acting leader")
def two_leaders_of_one_term() -> Story:
    story = Story()
    story.lead("w1", 1)
    story.lead("w2", 1)
    return story


@breaks("one acting leader")
def term_goes_back() -> Story:
    story = Story()
    story.lead("w1", 2)
    story.lead("w2", 1)
    return story


@breaks("one acting leader")
def lead_is_given_during_a_lease() -> Story:
    story = Story()
    story.lead("w1", 1, lease=10.0)
    story.lead("w2", 2)
    return story


@breaks("duties of the acting term")
def old_leader_still_acts() -> Story:
    story = Story()
    story.lead("w1", 1)
    story.lead("w2", 2)
    story.duty("w1", 1)
    return story


@breaks("duties of the acting term")
def old_leader_notes_a_duty() -> Story:
    story = Story()
    story.lead("w1", 1)
    story.lead("w2", 2)
    story.note("duty", "w1", term=1, name="fire schedules")
    return story


@breaks("each tick once")
def tick_is_fired_twice() -> Story:
    story = Story()
    story.fire("w1", 1, "nightly", "first", 5_000)
    story.fire("w2", 2, "nightly", "second", 5_000)
    for token, id in enumerate(("first", "second"), start=1):
        story.claim("w1", (id, token, 1))
        story.complete("w1", id, token)
        story.stored(id, schedule="nightly")
    return story


@breaks("no tick early")
def tick_is_fired_before_its_time() -> Story:
    story = Story()
    story.fire("w1", 1, "nightly", "early", 5_000)
    story.claim("w1", ("early", 1, 1))
    story.complete("w1", "early", 1)
    story.stored("early", schedule="nightly", early_us=1)
    return story


# What is paused


@breaks("paused work")
def job_of_a_paused_queue_is_given_out() -> Story:
    story = Story()
    story.enqueue("job", queue="mail")
    story.pause("queue", "mail")
    story.claim("w1", ("job", 1, 1))
    story.complete("w1", "job", 1)
    story.stored("job")
    return story


@breaks("paused work")
def job_of_a_type_that_was_paused_again_is_given_out() -> Story:
    story = Story()
    story.enqueue("job", type="send")
    for _ in range(2):
        story.pause("type", "send")
        story.resume("type", "send")
    story.pause("type", "send")
    story.resume("type", "other")
    story.claim("w1", ("job", 1, 1))
    story.complete("w1", "job", 1)
    story.stored("job", type="send")
    return story


# Keys and limits


def _two_with(**options: Any) -> Story:
    """Two jobs with the same options, held at the same time by two workers."""
    story = Story(key_limits={"shop": 1}, rates={"api": Rate(1, 1_000_000)}, ordered_keys=frozenset({"line"}))
    claimed(story, "one", 1, "w1", **options)
    claimed(story, "two", 2, "w2", **options)
    for worker, id, token in (("w1", "one", 1), ("w2", "two", 2)):
        story.complete(worker, id, token)
        story.stored(id)
    return story


@breaks("unique keys")
def unique_key_is_held_twice() -> Story:
    return _two_with(unique=UniqueAsked("welcome"))


@breaks("unique keys")
def unique_key_is_held_twice_in_its_period() -> Story:
    story = Story()
    for id, token in (("one", 1), ("two", 2)):
        claimed(story, id, token, unique=UniqueAsked("welcome", per=60.0))
        story.complete("w1", id, token)
        story.stored(id)
    return story


@breaks("key limit")
def too_many_at_once() -> Story:
    return _two_with(key="shop")


@breaks("rate limit")
def too_many_in_a_window() -> Story:
    return _two_with(rate="api")


@breaks("ordered keys")
def second_begins_before_the_first_has_ended() -> Story:
    return _two_with(key="line")


@breaks("ordered keys")
def second_of_one_enqueue_comes_first() -> Story:
    story = Story(ordered_keys=frozenset({"line"}))
    story.enqueue("one", "two", key="line")
    for id, token in (("two", 1), ("one", 2)):
        story.claim("w1", (id, token, 1))
        story.complete("w1", id, token)
        story.stored(id)
    return story


@breaks("ordered keys")
def second_overtakes_the_first_that_waits_for_its_next_attempt() -> Story:
    story = Story(ordered_keys=frozenset({"line"}))
    story.enqueue("one", key="line", delay=1.0)
    story.enqueue("two", key="line", delay=1.0)
    story.claim("w1", ("one", 1, 1))
    story.end("w1", "one", 1, "back_off")
    for id, token, attempt in (("two", 2, 1), ("one", 3, 2)):
        story.claim("w1", (id, token, attempt))
        story.complete("w1", id, token)
    story.stored("one", attempt=2, steps="back_off")
    story.stored("two")
    return story


@breaks("ordered keys")
def second_by_its_moment_comes_first() -> Story:
    story = Story(ordered_keys=frozenset({"line"}))
    story.enqueue("one", key="line", at=1)
    story.enqueue("two", key="line", at=2)
    for id, token in (("two", 1), ("one", 2)):
        story.claim("w1", (id, token, 1))
        story.complete("w1", id, token)
        story.stored(id)
    return story


# Turns


def _three_of_two_tenants() -> Story:
    story = Story(turns=frozenset({"default"}))
    story.enqueue("a1", "a2", tenant="a")
    story.enqueue("b1", tenant="b")
    for id in ("a1", "a2", "b1"):
        story.stored(id)
    return story


def _completed(story: Story) -> Story:
    for token, id in enumerate(("a1", "a2", "b1"), start=1):
        story.complete("w1", id, token)
    return story


@breaks("turns of tenants")
def one_tenant_has_two_turns_in_one_claim() -> Story:
    story = _three_of_two_tenants()
    story.claim("w1", ("a1", 1, 1), ("a2", 2, 1))
    story.claim("w1", ("b1", 3, 1))
    return _completed(story)


@breaks("turns of tenants")
def one_tenant_has_two_turns_in_two_claims() -> Story:
    story = _three_of_two_tenants()
    for token, id in enumerate(("a1", "a2", "b1"), start=1):
        story.claim("w1", (id, token, 1))
    return _completed(story)
