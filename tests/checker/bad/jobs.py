"""Jobs that are lost, come from nowhere, or have their effects too often."""

from __future__ import annotations

from tests.checker.bad.register import breaks, claimed
from tests.checker.events import FollowUp, JobAsked, Success
from tests.checker.story import Story

# Nothing is lost


@breaks("no loss")
def never_ended() -> Story:
    story = Story()
    story.enqueue("job")
    story.stored("job", "pending", attempt=0)
    return story


@breaks("no loss", "conservation")
def vanished() -> Story:
    story = Story()
    story.enqueue("job")
    return story


@breaks("no loss", "conservation")
def vanished_though_nothing_removes_it() -> Story:
    story = Story()
    claimed(story)
    story.complete("w1", "job", 1)
    return story


@breaks("no loss", "conservation")
def removed_before_it_had_ended() -> Story:
    story = Story()
    claimed(story, remove_on_complete=True)
    story.end("w1", "job", 1, "back_off")
    return story


@breaks("no loss", "conservation")
def stored_twice() -> Story:
    story = Story()
    claimed(story)
    story.complete("w1", "job", 1)
    story.stored("job")
    story.stored("job")
    return story


@breaks("no loss")
def uncertain_and_stuck() -> Story:
    story = Story()
    story.enqueue("job", phase="unknown")
    story.stored("job", "claimed")
    return story


@breaks("no loss", "conservation")
def lost_follow_up() -> Story:
    story = Story()
    claimed(story)
    follow_up = FollowUp(1, JobAsked(id="next"))
    call = story.ask("w1", "finish", completed=(Success("job", 1),), follow_ups=(follow_up,))
    story.tell("w1", "finish", call)
    story.stored("job")
    return story


@breaks("conservation")
def counted_too_few() -> Story:
    story = Story()
    claimed(story)
    story.complete("w1", "job", 1)
    story.stored("job")
    story.counted(completed=0)
    return story


@breaks("conservation")
def counted_in_another_state() -> Story:
    story = Story()
    claimed(story)
    story.complete("w1", "job", 1)
    story.stored("job")
    story.counted(dead=1)
    return story


# Nothing comes from nowhere


@breaks("nothing from nowhere", "conservation")
def stored_by_nobody() -> Story:
    story = Story()
    story.stored("job", "expired", attempt=0)
    return story


@breaks("nothing from nowhere", "conservation")
def stored_though_its_enqueue_failed() -> Story:
    story = Story()
    story.enqueue("job", phase="fail")
    story.stored("job", "expired", attempt=0)
    return story


@breaks("nothing from nowhere")
def claimed_before_it_was_enqueued() -> Story:
    story = Story()
    story.claim("w1", ("job", 1, 1))
    story.enqueue("job")
    story.complete("w1", "job", 1)
    story.stored("job")
    return story


@breaks("nothing from nowhere")
def run_without_a_claim() -> Story:
    story = Story()
    claimed(story)
    story.run("w2", "job", 7)
    story.complete("w1", "job", 1)
    story.stored("job")
    return story


@breaks("nothing from nowhere")
def effect_without_a_claim() -> Story:
    story = Story()
    claimed(story)
    story.complete("w1", "job", 1)
    story.stored("job")
    story.effect("job", 7)
    return story


@breaks("nothing from nowhere")
def accepted_a_token_that_nobody_has() -> Story:
    story = Story()
    claimed(story)
    story.start("w1", 7)
    story.complete("w1", "job", 1)
    story.stored("job")
    return story


@breaks("nothing from nowhere")
def created_twice() -> Story:
    story = Story()
    story.enqueue("job")
    claimed(story)
    story.complete("w1", "job", 1)
    story.stored("job")
    return story


# Effects


@breaks("effect once")
def effect_of_two_attempts() -> Story:
    story = Story(once=frozenset({"task"}))
    claimed(story)
    story.end("w1", "job", 1, "back_off")
    story.claim("w1", ("job", 2, 2))
    story.complete("w1", "job", 2)
    story.stored("job", attempt=2)
    story.effect("job", 1)
    story.effect("job", 2)
    return story


@breaks("effect once")
def completed_without_its_effect() -> Story:
    story = Story(once=frozenset({"task"}))
    claimed(story)
    story.complete("w1", "job", 1)
    story.stored("job")
    return story


@breaks("effect once")
def effect_of_a_job_that_failed() -> Story:
    story = Story(once=frozenset({"task"}))
    claimed(story)
    story.end("w1", "job", 1, "fail")
    story.stored("job", "dead")
    story.effect("job", 1)
    return story


@breaks("effect once")
def completed_and_never_run() -> Story:
    story = Story(at_least_once=frozenset({"task"}))
    claimed(story)
    story.complete("w1", "job", 1)
    story.stored("job")
    return story


@breaks("key begun once")
def key_of_once_begun_by_two_attempts() -> Story:
    story = Story()
    claimed(story)
    story.once("w1", 1, "charge", "run")
    story.end("w1", "job", 1, "back_off")
    story.claim("w1", ("job", 2, 2))
    story.once("w1", 2, "charge", "run")
    story.complete("w1", "job", 2)
    story.stored("job", attempt=2)
    return story
