"""What nobody can know for certain is never held against the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.checker.check import violations
from tests.checker.events import JobAsked, JobClaimed, ScheduleChanged, Success, UniqueAsked
from tests.checker.rules import Rate
from tests.checker.story import Story


def overlapping_claims_in_any_order() -> Story:
    story = Story()
    story.enqueue("one", "two")
    calls = [story.ask("w1", "claim"), story.ask("w2", "claim")]
    story.tell("w1", "claim", calls[0], jobs=(JobClaimed("one", 2, 1),))
    story.tell("w2", "claim", calls[1], jobs=(JobClaimed("two", 1, 1),))
    story.complete("w1", "one", 2)
    story.complete("w2", "two", 1)
    story.stored("one")
    story.stored("two")
    return story


def finish_that_overlaps_with_a_recovery() -> Story:
    """The recovery began before the finish, and took the job from the next worker."""
    story = Story()
    story.enqueue("job")
    story.claim("w1", ("job", 1, 1))
    call = story.ask("w2", "recover")
    story.end("w1", "job", 1, "back_off")
    story.claim("w1", ("job", 2, 2))
    story.tell("w2", "recover", call, jobs=("job",))
    story.claim("w2", ("job", 3, 3, 1))
    story.complete("w2", "job", 3)
    story.stored("job", attempt=3, crashes=1, steps="back_off recover")
    return story


def finish_whose_answer_was_lost() -> Story:
    """It may have been stored, as an attempt that is charged, or not; the recovery is not named in the history."""
    story = Story()
    story.enqueue("job")
    story.claim("w1", ("job", 1, 1))
    story.ask("w1", "finish", completed=(Success("job", 1),))
    story.note("killed", "w1")
    story.ask("w2", "recover")
    story.note("killed", "w2")
    story.claim("w3", ("job", 3, 2, 1))
    story.complete("w3", "job", 3)
    story.stored("job", attempt=2, crashes=1, steps="recover")
    return story


def recovered_by_a_person_beside_the_history() -> Story:
    story = Story()
    story.enqueue("job")
    story.claim("w1", ("job", 1, 1))
    story.claim("w2", ("job", 2, 2, 1))
    story.complete("w2", "job", 2)
    story.stored("job", attempt=2, crashes=1, steps="recover")
    return story


def claim_that_a_crash_of_the_server_has_undone() -> Story:
    story = Story(claims_undone=True)
    story.enqueue("job")
    story.claim("w1", ("job", 1, 1))
    story.claim("w1", ("job", 2, 1))
    story.complete("w1", "job", 2)
    story.stored("job")
    return story


def unique_key_whose_holder_may_have_ended() -> Story:
    story = Story()
    story.enqueue("one", unique=UniqueAsked("key"))
    story.claim("w1", ("one", 1, 1))
    call = story.ask("w1", "finish", completed=(Success("one", 1),))
    story.enqueue("two", unique=UniqueAsked("key"))
    story.tell("w1", "finish", call)
    story.stored("one")
    story.stored("two", "expired", attempt=0)
    return story


def unique_key_whose_holder_has_expired() -> Story:
    story = Story()
    for id in ("one", "two"):
        story.enqueue(id, unique=UniqueAsked("key"), ttl=1.0)
        story.stored(id, "expired", attempt=0)
    return story


def unique_key_whose_holder_found_no_worker() -> Story:
    """It was dead when its enqueue returned; that somebody wanted to cancel it later says nothing."""
    story = Story()
    story.enqueue("one", unique=UniqueAsked("key"))
    story.enqueue("two", unique=UniqueAsked("key"))
    story.claim("w1", ("two", 1, 1))
    story.complete("w1", "two", 1)
    story.cancel("one", "dead", "dead")
    story.stored("one", "dead", attempt=0, decided_by="routing")
    story.stored("two")
    return story


def tick_whose_unique_key_is_held() -> Story:
    """It is taken, and makes no job."""
    story = Story()
    story.enqueue("holder", unique=UniqueAsked("key"))
    story.lead("w1", 1, lease=10.0)
    changes = (ScheduleChanged("nightly", (JobAsked(id="tick", at=1, unique=UniqueAsked("key")),)),)
    call = story.ask("w1", "schedule", changes=changes, term=1)
    story.tell("w1", "schedule", call, stored=("nightly",))
    story.claim("w1", ("holder", 1, 1))
    story.complete("w1", "holder", 1)
    story.stored("holder")
    return story


def two_turns_of_jobs_that_had_waited_for_long() -> Story:
    """Ageing has put one before the others of its kind, whoever's turn it is."""
    story = Story(turns=frozenset({"default"}))
    for id, tenant in (("a1", "acme"), ("a2", "acme"), ("b1", "beta")):
        story.enqueue(id, tenant=tenant)
    call = story.ask("w1", "claim")
    story.tell("w1", "claim", call, session=1, jobs=(JobClaimed("a1", 1, 1),))
    call = story.ask("w1", "claim")
    story.tell("w1", "claim", call, session=1, jobs=(JobClaimed("a2", 2, 1, priority=1),))
    story.claim("w1", ("b1", 3, 1), session=1)
    for token, id in enumerate(("a1", "a2", "b1"), start=1):
        story.complete("w1", id, token)
        story.stored(id)
    return story


def limit_while_an_end_is_on_its_way() -> Story:
    story = Story(key_limits={"shop": 1}, rates={"api": Rate(1, 1_000)}, ordered_keys=frozenset({"shop"}))
    story.enqueue("one", key="shop", rate="api")
    story.enqueue("two", key="shop", rate="api")
    story.claim("w1", ("one", 1, 1))
    call = story.ask("w1", "finish", completed=(Success("one", 1),))
    story.claim("w2", ("two", 2, 1))
    story.tell("w1", "finish", call)
    story.complete("w2", "two", 2)
    story.stored("one")
    story.stored("two")
    return story


def rate_of_a_job_that_was_told_as_begun_and_did_not() -> Story:
    """A worker tells of those that are next before it asks whether they are still its own, and gave this one back."""
    story = Story(rates={"api": Rate(1, 1_000_000)})
    story.enqueue("one", rate="api")
    story.enqueue("two", rate="api")
    story.claim("w1", ("one", 1, 1))
    story.start("w1", 1)
    story.end("w1", "one", 1, "release")
    story.claim("w2", ("two", 2, 1))
    story.run("w2", "two", 2)
    story.complete("w2", "two", 2)
    story.stored("two")
    story.wait(2.0)
    story.claim("w1", ("one", 3, 1))
    story.complete("w1", "one", 3)
    story.stored("one", steps="release")
    return story


def ordered_key_with_a_job_for_later() -> Story:
    """It is due after those that are enqueued after it; and of moments and delays nobody knows which comes first."""
    story = Story(ordered_keys=frozenset({"line"}))
    story.enqueue("later", key="line", delay=60.0)
    story.enqueue("some-time", key="line", at=1)
    story.enqueue("now", key="line")
    for id, token in (("now", 1), ("some-time", 2), ("later", 3)):
        story.claim("w1", (id, token, 1))
        story.complete("w1", id, token)
        story.stored(id)
    return story


def ordered_key_whose_clock_was_set() -> Story:
    story = Story(ordered_keys=frozenset({"line"}), clocks_jump=True)
    story.enqueue("one", key="line")
    story.enqueue("two", key="line")
    for id, token in (("two", 1), ("one", 2)):
        story.claim("w1", (id, token, 1))
        story.complete("w1", id, token)
        story.stored(id)
    return story


def killed_after_its_last_word() -> Story:
    """The finish was stored and its answer was lost with the process: nobody has to pick the job up."""
    story = Story(pickup_us=1_000_000)
    story.enqueue("job")
    story.claim("w1", ("job", 1, 1))
    story.ask("w1", "finish", completed=(Success("job", 1),))
    story.note("killed", "w1")
    story.wait(5.0)
    story.enqueue("later")
    story.claim("w2", ("later", 2, 1))
    story.complete("w2", "later", 2)
    story.stored("job")
    story.stored("later")
    return story


def leader_that_resigned() -> Story:
    story = Story()
    story.lead("w1", 1, lease=10.0)
    story.lead("w1", 1, acting=False)
    story.lead("w2", 2, lease=10.0)
    return story


def lead_whose_renewal_was_not_heard() -> Story:
    """Nobody knows when the lease of the first ended: it may have given the lead up."""
    story = Story()
    story.lead("w1", 1, lease=10.0)
    story.ask("w1", "lead")
    story.note("killed", "w1")
    story.lead("w2", 2, lease=10.0)
    return story


def duty_that_overlaps_with_the_next_term() -> Story:
    story = Story()
    story.lead("w1", 1)
    call = story.ask("w1", "duty", term=1, name="recover_jobs")
    story.lead("w2", 2)
    story.tell("w1", "duty", call)
    return story


def removed_by_its_options_and_stored_again() -> Story:
    """The answer to the first enqueue was lost; when it is sent again the job has come and gone."""
    story = Story()
    story.enqueue("job", phase="unknown", remove_on_complete=True)
    story.claim("w1", ("job", 1, 1))
    story.complete("w1", "job", 1)
    story.enqueue("job", remove_on_complete=True)
    story.claim("w1", ("job", 2, 1))
    story.complete("w1", "job", 2)
    return story


def removed_by_retention() -> Story:
    story = Story()
    story.enqueue("job")
    story.claim("w1", ("job", 1, 1))
    story.complete("w1", "job", 1)
    call = story.ask("w1", "prune")
    story.tell("w1", "prune", call, removed=1)
    return story


DOUBTS: list[Callable[[], Story]] = [
    overlapping_claims_in_any_order,
    finish_that_overlaps_with_a_recovery,
    finish_whose_answer_was_lost,
    recovered_by_a_person_beside_the_history,
    claim_that_a_crash_of_the_server_has_undone,
    unique_key_whose_holder_may_have_ended,
    unique_key_whose_holder_has_expired,
    unique_key_whose_holder_found_no_worker,
    tick_whose_unique_key_is_held,
    two_turns_of_jobs_that_had_waited_for_long,
    limit_while_an_end_is_on_its_way,
    rate_of_a_job_that_was_told_as_begun_and_did_not,
    ordered_key_with_a_job_for_later,
    ordered_key_whose_clock_was_set,
    killed_after_its_last_word,
    leader_that_resigned,
    lead_whose_renewal_was_not_heard,
    duty_that_overlaps_with_the_next_term,
    removed_by_its_options_and_stored_again,
    removed_by_retention,
]


@pytest.mark.parametrize("story", DOUBTS, ids=lambda story: story.__name__.replace("_", " "))
def test_a_doubt_is_not_a_violation(story: Callable[[], Story]) -> None:
    assert violations(story().case) == []
