"""A supervisor that asks its processes: over real sockets, with processes that answer, hang, die and come back."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from penstock.observe.metrics.shown import Shown
from penstock.supervisor import process_metrics
from penstock.supervisor.process_metrics import ProcessMetrics
from penstock.worker.liveness.metrics_channel import MetricsChannel, frame

PATIENCE_SECONDS = 30.0


class Child:
    """One process: what it shows, and its end of the socket."""

    def __init__(self, metrics: ProcessMetrics, number: int, pid: int, jobs: float = 0.0) -> None:
        self.metrics, self.pid, self.jobs = metrics, pid, jobs
        ours, self.theirs = socket.socketpair()
        metrics.add(number, pid, ours)
        self.channel: MetricsChannel | None = None

    def shown(self) -> Shown:
        return {"jobs_total": {("mail", "completed"): self.jobs}, "jobs_active": {("mail",): 1.0}}

    def begin(self) -> Child:
        self.channel = MetricsChannel(self.theirs.detach(), self.shown)
        return self

    def end_in_order(self) -> None:
        assert self.channel
        self.channel.close()
        self.metrics.end(self.pid)

    def die(self) -> None:
        """Without a word."""
        assert self.channel
        self.channel._socket.shutdown(socket.SHUT_RDWR)
        self.channel._thread.join(PATIENCE_SECONDS)
        self.channel._socket.close()
        self.metrics.end(self.pid)


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessMetrics]:
    monkeypatch.setattr(process_metrics, "ANSWER_SECONDS_MAX", 0.2)
    made = ProcessMetrics(2)
    yield made
    made.close()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def completed(shown: Shown) -> object:
    return shown["jobs_total"]["mail", "completed"]


def active(shown: Shown) -> object:
    return shown["jobs_active"]["mail",]


def up(shown: Shown) -> list[object]:
    return [value for _, value in sorted(shown["supervisor_process_up"].items())]


def test_all_processes_as_one(metrics: ProcessMetrics) -> None:
    children = [Child(metrics, 1, 11, 3.0).begin(), Child(metrics, 2, 12, 4.0).begin()]
    shown = metrics()
    assert (completed(shown), active(shown), up(shown)) == (7, 2, [1, 1])
    for child in children:
        child.end_in_order()


def test_the_last_word_of_one_that_ends_in_order_counts(metrics: ProcessMetrics) -> None:
    child = Child(metrics, 1, 11, 3.0).begin()
    metrics()
    child.jobs = 9.0
    child.end_in_order()
    until(lambda: completed(metrics()) == 9)
    assert "jobs_active" not in metrics()
    assert up(metrics()) == [0, 0]


def test_counts_do_not_fall_when_a_process_dies_and_another_takes_its_place(metrics: ProcessMetrics) -> None:
    child = Child(metrics, 1, 11, 3.0).begin()
    assert completed(metrics()) == 3
    child.die()
    assert completed(metrics()) == 3
    again = Child(metrics, 1, 13, 0.0).begin()
    assert (completed(metrics()), up(metrics())) == (3, [1, 0])
    again.jobs = 2.0
    assert completed(metrics()) == 5
    again.end_in_order()


def test_one_with_the_pid_of_one_before_it_takes_nothing_away(metrics: ProcessMetrics) -> None:
    Child(metrics, 1, 11, 3.0).begin().end_in_order()
    until(lambda: "jobs_total" in metrics())
    again = Child(metrics, 1, 11, 1.0).begin()
    assert completed(metrics()) == 4
    again.die()


def test_one_that_hangs_is_not_waited_for_and_its_counts_stand(metrics: ProcessMetrics) -> None:
    well, hangs = Child(metrics, 1, 11, 3.0).begin(), Child(metrics, 2, 12, 4.0).begin()
    assert completed(metrics()) == 7
    stuck, free = threading.Event(), threading.Event()
    show = hangs.shown

    def hang() -> Shown:
        stuck.set()
        free.wait(PATIENCE_SECONDS)
        return show()

    assert hangs.channel
    hangs.channel._shown = hang
    began = time.monotonic()
    shown = metrics()
    assert time.monotonic() - began < PATIENCE_SECONDS
    assert stuck.wait(PATIENCE_SECONDS)
    assert (completed(shown), active(shown), up(shown)) == (7, 1, [1, 0])
    hangs.jobs = 5.0
    free.set()
    until(lambda: up(metrics()) == [1, 1])
    assert completed(metrics()) == 8
    for child in (well, hangs):
        child.end_in_order()


def test_one_that_has_not_begun_yet_is_not_up(metrics: ProcessMetrics) -> None:
    child = Child(metrics, 1, 11)
    assert metrics() == {"supervisor_process_up": {("1",): 0, ("2",): 0}}
    child.begin()
    until(lambda: up(metrics()) == [1, 0])
    child.end_in_order()


def test_a_word_that_is_larger_than_what_the_system_holds(metrics: ProcessMetrics) -> None:
    """And that nobody has asked for: whoever ends must not wait for a scrape."""
    child = Child(metrics, 1, 11).begin()
    large: Shown = {"jobs_total": {(f"type {number}", "completed"): 1.0 for number in range(50_000)}}
    assert len(frame(large)) > 2**20
    assert child.channel
    child.channel._shown = lambda: large
    child.end_in_order()
    until(lambda: len(metrics().get("jobs_total", {})) == 50_000)


def test_a_supervisor_that_is_gone_keeps_nobody() -> None:
    metrics = ProcessMetrics(1)
    child = Child(metrics, 1, 11).begin()
    metrics.close()
    assert child.channel
    child.channel._thread.join(PATIENCE_SECONDS)
    assert not child.channel._thread.is_alive()
    child.channel.close()
