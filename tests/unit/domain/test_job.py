"""The table of transitions, and the words for states."""

from __future__ import annotations

import itertools

import pytest

from penstock.domain.errors import ConfigError, PenstockError
from penstock.domain.job import (
    DEAD_LETTERS,
    FINAL,
    SYNONYMS,
    TRANSITIONS,
    Event,
    State,
    StateCode,
    next_state,
    states_named,
)


@pytest.mark.parametrize(("state", "event"), list(itertools.product(State, Event)))
def test_only_what_the_table_says_may_happen(state: State, event: Event) -> None:
    if (state, event) in TRANSITIONS:
        assert next_state(state, event) is TRANSITIONS[state, event]
    else:
        with pytest.raises(PenstockError, match=f"a {state} job cannot take"):
            next_state(state, event)


def test_nothing_leaves_a_final_state() -> None:
    assert {after for (state, _), after in TRANSITIONS.items() if state in FINAL} <= FINAL
    assert {event for state, event in TRANSITIONS if state in FINAL} == {Event.RETRIED}
    assert all(after is state for (state, _), after in TRANSITIONS.items() if state in FINAL)


def test_every_event_is_in_the_table_but_those_that_begin_and_end_a_life() -> None:
    assert {event for _, event in TRANSITIONS} == {*Event} - {Event.ENQUEUE, Event.REMOVE}


def test_every_state_can_be_reached_and_left_for_an_end() -> None:
    begins = {State.PENDING, State.SCHEDULED}
    reached = set(begins)
    while more := {after for (state, _), after in TRANSITIONS.items() if state in reached} - reached:
        reached |= more
    assert reached == set(State)
    for state in set(State) - FINAL:
        assert {after for (before, _), after in TRANSITIONS.items() if before is state}


def test_every_waiting_or_held_job_can_be_cancelled() -> None:
    for state in set(State) - FINAL:
        assert next_state(state, Event.CANCEL) is State.CANCELLED


def test_only_an_attempt_or_its_worker_ends_a_held_job_and_only_waiting_ones_expire() -> None:
    assert {state for state, event in TRANSITIONS if event is Event.EXPIRE} == {State.PENDING, State.BLOCKED}
    assert {state for state, event in TRANSITIONS if event is Event.COMPLETE} == {State.CLAIMED, State.RUNNING}
    assert {state for state, event in TRANSITIONS if event is Event.CLAIM} == {State.PENDING}


def test_the_stored_numbers_never_change() -> None:
    assert {code.name: code.value for code in StateCode} == {"COMPLETED": 1, "DEAD": 2, "CANCELLED": 3, "EXPIRED": 4}
    assert {State[code.name] for code in StateCode} == FINAL


@pytest.mark.parametrize("state", State)
def test_our_own_words(state: State) -> None:
    assert states_named(state.value) == {state}


@pytest.mark.parametrize("word", SYNONYMS)
def test_words_of_other_systems(word: str) -> None:
    assert states_named(word) == SYNONYMS[word]


def test_failed_means_all_dead_letters() -> None:
    assert states_named("failed") == DEAD_LETTERS == {State.DEAD, State.EXPIRED}


def test_an_unknown_word_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'stale' does not exist.*pending.*waiting"):
        states_named("stale")
