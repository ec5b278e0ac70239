"""Attempts by the wrong holder, after the end, too late, or wrongly charged."""

from __future__ import annotations

from tests.checker.bad.register import breaks, claimed
from tests.checker.events import JobClaimed
from tests.checker.story import Story

# Tokens


@breaks("tokens grow")
def token_goes_back() -> Story:
    story = Story()
    claimed(story, token=2)
    claimed(story, "other", token=1)
    for id, token in (("job", 2), ("other", 1)):
        story.complete("w1", id, token)
        story.stored(id)
    return story


@breaks("tokens grow")
def same_token_for_two_jobs() -> Story:
    """Two workers at the same time: the order of their claims is unknown."""
    story = Story()
    story.enqueue("job", "other")
    calls = {worker: story.ask(worker, "claim") for worker in ("w1", "w2")}
    for worker, id in (("w1", "job"), ("w2", "other")):
        story.tell(worker, "claim", calls[worker], jobs=(JobClaimed(id, 1, 1),))
    story.complete("w1", "job", 1)
    story.stored("job")
    story.stored("other")
    return story


@breaks("only the current token writes")
def old_token_starts() -> Story:
    story = Story()
    claimed(story)
    story.recover("w2", "job")
    story.claim("w2", ("job", 2, 2, 1))
    story.start("w1", 1)
    story.complete("w2", "job", 2)
    story.stored("job", attempt=2, crashes=1, steps="recover")
    return story


@breaks("only the current token writes")
def old_token_fails_its_job() -> Story:
    """The fence at finish is missing: after the recovery there is no other claim yet."""
    story = Story()
    claimed(story)
    story.recover("w2", "job")
    story.end("w1", "job", 1, "back_off")
    story.claim("w2", ("job", 2, 3, 1))
    story.complete("w2", "job", 2)
    story.stored("job", attempt=3, crashes=1, steps="recover")
    return story


@breaks("only the current token writes")
def finished_twice() -> Story:
    story = Story()
    claimed(story)
    story.complete("w1", "job", 1)
    story.complete("w1", "job", 1)
    story.stored("job")
    return story


@breaks("only the current token writes")
def old_token_begins_an_effect() -> Story:
    story = Story()
    claimed(story)
    story.recover("w2", "job")
    story.once("w1", 1, "charge", "run")
    story.claim("w2", ("job", 2, 2, 1))
    story.complete("w2", "job", 2)
    story.stored("job", attempt=2, crashes=1, steps="recover")
    return story


@breaks("one holder")
def two_workers_hold_one_job() -> Story:
    story = Story()
    claimed(story)
    story.claim("w2", ("job", 2, 2))
    story.complete("w2", "job", 2)
    story.stored("job", attempt=2)
    return story


# The end


@breaks("no claim after the end")
def claimed_after_it_was_completed() -> Story:
    story = Story()
    claimed(story)
    story.complete("w1", "job", 1)
    story.claim("w1", ("job", 2, 1))
    story.complete("w1", "job", 2)
    story.stored("job")
    return story


@breaks("no claim after the end")
def claimed_after_it_was_cancelled() -> Story:
    story = Story()
    story.enqueue("job")
    story.cancel("job", "pending", "cancelled")
    story.claim("w1", ("job", 1, 1))
    story.stored("job", "cancelled")
    return story


@breaks("no claim after the end")
def claimed_after_its_cancelled_attempt() -> Story:
    story = Story()
    claimed(story)
    story.cancel("job", "running", "running")
    story.end("w1", "job", 1, "back_off")
    story.claim("w1", ("job", 2, 2))
    story.end("w1", "job", 2, "cancel")
    story.stored("job", "cancelled", attempt=2)
    return story


@breaks("the end stays")
def completed_and_then_dead() -> Story:
    story = Story()
    claimed(story)
    story.complete("w1", "job", 1)
    story.stored("job", "dead", decided_by="worker")
    return story


# Pickup


@breaks("pickup bound")
def job_of_a_dead_worker_is_late() -> Story:
    story = Story(pickup_us=1_000_000)
    claimed(story)
    story.note("killed", "w1")
    story.wait(1.0)
    story.recover("w2", "job")
    story.claim("w2", ("job", 2, 2, 1))
    story.complete("w2", "job", 2)
    story.stored("job", attempt=2, crashes=1, steps="recover")
    return story


@breaks("pickup bound")
def job_of_a_stopped_worker_waits_for_it() -> Story:
    story = Story(pickup_us=1_000_000)
    claimed(story)
    story.note("paused", "w1")
    story.wait(2.0)
    story.note("resumed", "w1")
    story.complete("w1", "job", 1)
    story.stored("job")
    return story


@breaks("pickup bound", "no loss")
def job_of_a_dead_worker_is_forgotten() -> Story:
    story = Story(pickup_us=1_000_000)
    claimed(story)
    story.note("killed", "w1")
    story.wait(2.0)
    claimed(story, "other", 2, "w2")
    story.complete("w2", "other", 2)
    story.stored("job", "claimed")
    story.stored("other")
    return story


# Attempts


@breaks("attempts within the maximum")
def tried_too_often() -> Story:
    story = Story()
    claimed(story, max_attempts=1)
    story.end("w1", "job", 1, "back_off")
    story.claim("w1", ("job", 2, 2))
    story.end("w1", "job", 2, "fail")
    story.stored("job", "dead", attempt=2, max_attempts=1, decided_by="worker")
    return story


@breaks("attempts within the maximum")
def ended_above_the_maximum() -> Story:
    story = Story()
    story.enqueue("job", max_attempts=1)
    story.stored("job", "expired", attempt=2, max_attempts=1)
    return story


@breaks("attempts are charged")
def crash_is_free() -> Story:
    story = Story()
    claimed(story)
    story.recover("w2", "job")
    story.claim("w2", ("job", 2, 1, 1))
    story.complete("w2", "job", 2)
    story.stored("job", crashes=1, steps="recover")
    return story


@breaks("attempts are charged")
def crash_is_not_counted_apart() -> Story:
    story = Story()
    claimed(story)
    story.end("w1", "job", 1, "back_off", crash=True)
    story.claim("w1", ("job", 2, 2, 0))
    story.complete("w1", "job", 2)
    story.stored("job", attempt=2, crashes=1)
    return story


@breaks("attempts are charged")
def last_crash_is_not_counted() -> Story:
    story = Story()
    claimed(story, max_attempts=1)
    story.recover("w2", "job")
    story.stored("job", "dead", crashes=0, steps="fail", decided_by="recovery", max_attempts=1)
    return story


@breaks("attempts are charged")
def release_is_charged() -> Story:
    story = Story()
    claimed(story)
    story.end("w1", "job", 1, "release")
    story.claim("w2", ("job", 2, 2))
    story.complete("w2", "job", 2)
    story.stored("job", attempt=2)
    return story


@breaks("attempts are charged")
def start_timeout_is_charged() -> Story:
    story = Story()
    claimed(story)
    story.give_back("w2", "job")
    story.claim("w2", ("job", 2, 2))
    story.complete("w2", "job", 2)
    story.stored("job", attempt=2, steps="give_back")
    return story


@breaks("attempts are charged")
def store_shows_another_attempt() -> Story:
    story = Story()
    claimed(story)
    story.complete("w1", "job", 1)
    story.stored("job", attempt=2)
    return story
