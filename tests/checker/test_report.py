"""How a violation reads."""

from __future__ import annotations

from tests.checker.check import violations
from tests.checker.report import EVENTS_MAX, LINE_MAX, report
from tests.checker.story import Story


def told(story: Story, **fields: object) -> str:
    return report(story.case, violations(story.case), **fields)  # type: ignore[arg-type]


def zombie() -> Story:
    story = Story()
    story.enqueue("unrelated", "job-1", "unrelated-2", "unrelated-3", "unrelated-4", "unrelated-5")
    story.claim("w1", ("job-1", 1, 1))
    story.recover("w2", "job-1")
    story.claim("w2", ("job-1", 2, 2, 1))
    story.start("w1", 1)
    story.complete("w2", "job-1", 2)
    story.stored("job-1", attempt=2, crashes=1, steps="recover")
    return story


def test_it_names_the_promise_what_broke_it_and_what_the_store_shows() -> None:
    text = told(zombie())
    assert "BROKEN: only the current token writes" in text
    assert "promise: Start, progress, finish and once are taken only from the token that is the newest" in text
    assert "found:   job job-1: start with token 1 was accepted after token 2 was given" in text
    assert 'store:   {"id":"job-1","state":"completed","attempt":2,"crashes":1' in text


def test_it_shows_the_events_behind_it_in_their_order() -> None:
    lines = told(zombie()).splitlines()
    slice_ = [line.split()[1:4] for line in lines if line.startswith("     ")]
    assert slice_ == [
        ["client", "?", "enqueue"],
        ["client", "=", "enqueue"],
        ["w1", "?", "claim"],
        ["w1", "=", "claim"],
        ["w2", "?", "recover"],
        ["w2", "=", "recover"],
        ["w2", "?", "claim"],
        ["w2", "=", "claim"],
        ["w1", "?", "start"],
        ["w1", "=", "start"],
        ["w2", "?", "finish"],
        ["w2", "=", "finish"],
    ]


def test_long_lists_are_cut_to_what_the_message_speaks_of() -> None:
    text = told(zombie())
    assert '"… of 6"' in text
    assert '"unrelated-5"' not in next(line for line in text.splitlines() if "? enqueue" in line)


def test_seed_and_replay_are_told_when_they_are_known() -> None:
    text = told(zombie(), seed=42, replay="make simulate SEED=42")
    assert text.endswith("  seed:    42\n  replay:  make simulate SEED=42")
    assert "seed:" not in told(zombie())


def test_what_else_is_broken_is_named_after_the_first() -> None:
    text = told(zombie())
    assert text.index("BROKEN: only the current token writes") < text.index("also broken, later:")
    assert "no loss: job unrelated was acknowledged and is not in the store" in text


def test_a_very_long_slice_shows_its_end() -> None:
    story = Story()
    story.enqueue("job")
    for token in range(1, EVENTS_MAX):
        story.claim("w1", ("job", token, 1))
        story.end("w1", "job", token, "release")
    text = told(story)
    assert f"{2 + 4 * (EVENTS_MAX - 1) - EVENTS_MAX} earlier ones are left out" in text
    assert max(map(len, text.splitlines())) <= LINE_MAX


def test_a_history_without_events_can_be_reported() -> None:
    story = Story()
    story.stored("job", "expired", attempt=0)
    assert "job job is in the store, and no enqueue has put it there" in told(story)
