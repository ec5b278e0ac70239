"""The one-pass answers against the plain ones."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from tests.checker.check import violations
from tests.checker.history import History
from tests.checker.rules import Bounds, Case
from tests.checker.rules.tokens import tokens_grow
from tests.checker.story import Story
from tests.checker.sweeps import Span, first_burst, first_crowd
from tests.checker.truth import Truth

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

moments = st.integers(0, 30)
spans = st.lists(st.builds(Span, moments, moments, st.integers()), max_size=12)


@PATIENT
@given(spans, st.integers(1, 4))
def test_a_crowd_is_found_when_there_is_one(spans: list[Span[int]], limit: int) -> None:
    most = max((sum(span.begin <= moment < span.end for span in spans) for moment in range(31)), default=0)
    crowd = first_crowd(spans, limit)
    assert (crowd is not None) == (most > limit)


@PATIENT
@given(spans, st.integers(1, 4))
def test_a_crowd_is_together_at_one_moment_and_at_no_earlier_one(spans: list[Span[int]], limit: int) -> None:
    crowd = first_crowd(spans, limit)
    if crowd is not None:
        moment = max(span.begin for span in crowd)
        assert len(crowd) == limit + 1
        assert all(span.begin <= moment < span.end for span in crowd)
        assert all(sum(span.begin <= m < span.end for span in spans) <= limit for m in range(moment))


@PATIENT
@given(st.lists(moments, max_size=15).map(sorted), st.integers(1, 4), st.integers(1, 10))
def test_a_burst_is_found_when_some_window_holds_too_many(moments: list[int], limit: int, window: int) -> None:
    fullest = max((sum(begin <= moment < begin + window for moment in moments) for begin in range(31)), default=0)
    burst = first_burst(moments, limit, window)
    assert (burst is not None) == (fullest > limit)
    if burst is not None:
        assert moments[burst[-1]] - moments[burst[0]] < window


claims = st.lists(st.tuples(moments, st.integers(0, 9)), min_size=1, max_size=8)


@PATIENT
@given(claims, st.randoms(use_true_random=False))
def test_tokens_are_compared_by_what_surely_came_first(claims: list[tuple[int, int]], random: Random) -> None:
    """Claims as (begun, how long), with the tokens 1, 2, … dealt out in any order."""
    tokens = list(range(1, len(claims) + 1))
    random.shuffle(tokens)
    events = []
    for (begun, lasted), token in zip(claims, tokens, strict=True):
        story = Story()
        story.claim(f"w{token}", (f"job-{token}", token, 1))
        asked, told = story.events
        events += [replace(asked, at=begun), replace(told, at=begun + lasted)]
    case = Case(History(events), Truth(), Bounds())
    expected = any(
        one[0] + one[1] < other[0] and tokens[a] > tokens[b]
        for a, one in enumerate(claims)
        for b, other in enumerate(claims)
    )
    assert bool(violations(case, [tokens_grow])) == expected
