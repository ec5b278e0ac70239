"""The heartbeat, and when a worker may judge others: only while it was itself heard without a gap."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from penstock.domain.errors import StoreBusy
from penstock.store.contract import Heartbeat as Beat, HeartbeatWorker, SqlStore
from penstock.worker.liveness.heartbeat import HeartbeatThread
from tests.worker.fakes import Answer, FakeClock

INTERVAL = 0.01


class BeatStore:
    """Answers heartbeats by a function of the test's."""

    def __init__(self, answer: Callable[[HeartbeatWorker], Beat]) -> None:
        self._answer = answer

    def heartbeat_worker(self, params: HeartbeatWorker) -> Any:
        return Answer(lambda: self._answer(params))


def make(
    answer: Callable[[HeartbeatWorker], Beat], lost: Callable[[int], None] = lambda session: None
) -> HeartbeatThread:
    return HeartbeatThread(cast(SqlStore, BeatStore(answer)), FakeClock(), INTERVAL, lost)


def test_it_beats_with_its_session_and_status_until_stopped() -> None:
    beats: list[HeartbeatWorker] = []
    enough = threading.Semaphore(0)

    def answer(params: HeartbeatWorker) -> Beat:
        beats.append(params)
        enough.release()
        return Beat(known=True)

    heartbeat = make(answer)
    heartbeat.start(7)
    enough.acquire()
    heartbeat.status = "draining"
    for _ in range(3):
        enough.acquire()
    heartbeat.stop()
    count = len(beats)
    assert {beat.session for beat in beats} == {7}
    assert (beats[0].status, beats[-1].status) == ("active", "draining")
    assert len(beats) == count


def test_a_lost_session_is_reported_with_its_number() -> None:
    lost: list[int] = []
    reported = threading.Event()

    def note(session: int) -> None:
        lost.append(session)
        reported.set()

    heartbeat = make(lambda params: Beat(known=False), note)
    heartbeat.start(7)
    assert reported.wait(30)
    heartbeat.stop()
    assert set(lost) == {7}


def test_a_beat_that_fails_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    tries = 0
    stored = threading.Event()

    def answer(params: HeartbeatWorker) -> Beat:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise StoreBusy("jobs.db: another program has held the write lock")
        stored.set()
        return Beat(known=True)

    heartbeat = make(answer)
    heartbeat.start(1)
    assert stored.wait(30)
    heartbeat.stop()
    assert "heartbeat not stored: jobs.db: another program" in caplog.text


def test_trust_needs_one_interval_without_a_gap() -> None:
    clock = FakeClock()
    heartbeat = HeartbeatThread(cast(SqlStore, None), clock, 10.0, lambda session: None)

    def beat_after(seconds: float) -> bool:
        clock.seconds += seconds
        heartbeat._note_gap()
        return heartbeat.trusted()

    assert not heartbeat.trusted(), "it has only just begun"
    assert beat_after(10)
    assert beat_after(10)
    clock.seconds += 16
    assert not heartbeat.trusted(), "it has not been heard for longer than it should"
    assert not beat_after(14), "the gap ended just now: others may still be on their way"
    assert beat_after(10)
