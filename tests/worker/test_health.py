"""What a worker says of itself: alive, ready, and the health of its store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any, cast

import pytest

from penstock import App
from penstock.observe.health import Facts, Health, Limits, judge
from penstock.store.contract import Store
from penstock.worker.liveness import health
from penstock.worker.liveness.health import (
    LOOP_SECONDS_DEAD,
    LOOP_SECONDS_LATE,
    HealthAnswer,
    HealthAnswers,
    HealthLook,
    Pulse,
)
from penstock.worker.liveness.http_answer import Answer
from tests.worker.fakes import FakeClock

WELL = Pulse(
    worker_id="w-1", loop_age=lambda: 0.1, registered=lambda: True, stopping=lambda: False, store_trouble=lambda: None
)
PATIENCE_SECONDS = 30.0


def no_look() -> Health:
    raise AssertionError("the store was asked")


def no_metrics() -> Answer:
    raise AssertionError("the metrics were asked for")


def ask(target: str, look: Callable[[], Health] = no_look, **changes: Any) -> tuple[int, dict[str, Any]]:
    answer = HealthAnswers(replace(WELL, **changes), look, no_metrics)(target)
    assert isinstance(answer, HealthAnswer)
    assert answer.document.pop("worker") == "w-1"
    return answer.status, answer.document


# Alive


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"store_trouble": lambda: "the server is away"},
        {"registered": lambda: False},
        {"stopping": lambda: True},
        {"loop_age": lambda: LOOP_SECONDS_DEAD - 1},
    ],
    ids=["well", "store away", "not registered", "stopping", "loop late"],
)
def test_alive_whatever_can_pass_without_a_restart(changes: dict[str, Any]) -> None:
    assert ask("/live", **changes) == (HTTPStatus.OK, {"live": True})


def test_not_alive_when_the_loop_is_blocked_for_longer_than_any_job_should_take() -> None:
    status, said = ask("/live", loop_age=lambda: LOOP_SECONDS_DEAD + 1)
    assert (status, said) == (503, {"live": False, "reason": "its event loop has been blocked for 5m1s"})


# Ready


def test_ready() -> None:
    assert ask("/ready") == (HTTPStatus.OK, {"ready": True})
    assert ask("/ready", loop_age=lambda: LOOP_SECONDS_LATE)[0] == 200


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"stopping": lambda: True}, "it is stopping"),
        ({"registered": lambda: False}, "not registered"),
        ({"loop_age": lambda: LOOP_SECONDS_LATE + 0.1}, "its event loop has been blocked for 5.1s"),
        ({"store_trouble": lambda: "the server is away"}, "the server is away"),
    ],
)
def test_not_ready_with_the_reason(changes: dict[str, Any], reason: str) -> None:
    status, said = ask("/ready", **changes)
    assert (status, said["ready"], reason in said["reason"]) == (503, False, True)


# Health


@pytest.mark.parametrize(
    ("facts", "status", "code"),
    [
        (Facts(ping=0.001, workers=[], lanes=[], dead=0), "unhealthy", 503),
        (Facts(error="gone"), "unhealthy", 503),
        (Facts(ping=0.001, workers=None, lanes=[], dead=0, late=2.0), "degraded", 200),
    ],
)
def test_health_is_the_judgement_of_the_store(facts: Facts, status: str, code: int) -> None:
    answered, said = ask("/health", lambda: judge(facts, Limits()))
    assert (answered, said["status"]) == (code, status)
    assert [check["name"] for check in said["checks"]] == ["store", "workers", "queues", "dead letters"]
    assert set(said["details"]) >= {"active_workers", "queues", "oldest_waiting", "dead_letters"}


# Paths


@pytest.mark.parametrize("target", ["/", "/live/", "/nope", "", "*", "/livefoo", "/%6Cive"])
def test_other_paths_name_the_right_ones(target: str) -> None:
    status, said = ask(target)
    assert (status, "/live, /ready, /health" in said["error"]) == (404, True)


@pytest.mark.parametrize("query", ["?", "?worker=w-1", "?worker=w%2D1", "?x=y&worker=w-1", "?worker=", "?%ff=&&&="])
def test_a_query_for_this_worker_or_for_none(query: str) -> None:
    assert ask(f"/live{query}")[0] == 200


def test_a_query_for_another_worker_is_not_answered_in_its_name() -> None:
    status, said = ask("/live?worker=w-2")
    assert (status, said) == (404, {"error": "this is another worker"})


# Looking at the store


class CountedStore:
    """Counts the looks at a real store, and can be made to hang."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.looks = 0
        self.free = threading.Event()
        self.free.set()

    def __getattr__(self, name: str) -> Any:
        if name == "list_workers":
            self.looks += 1
            self.free.wait(PATIENCE_SECONDS)
        return getattr(self._store, name)


@pytest.fixture
def store(app: App) -> CountedStore:
    app.store.migrate()
    return CountedStore(app.store)


def make_look(store: CountedStore, clock: FakeClock, trouble: Callable[[], str | None] = lambda: None) -> HealthLook:
    return HealthLook(cast(Store, store), clock, Limits(), trouble)


def test_a_fresh_look_is_shared_and_an_old_one_replaced(store: CountedStore) -> None:
    clock = FakeClock()
    look = make_look(store, clock)
    assert [look().status for _ in range(3)] == ["unhealthy"] * 3  # There is no worker.
    assert store.looks == 1
    clock.seconds += health.FRESH_SECONDS + 0.1
    look()
    assert store.looks == 2


def test_a_look_that_took_long_stays_fresh_for_longer(store: CountedStore) -> None:
    clock = FakeClock()
    look = make_look(store, clock)
    store.free.clear()
    asking = threading.Thread(target=look)
    asking.start()
    while store.looks == 0:
        asking.join(0.001)
    clock.seconds += 0.5
    store.free.set()
    asking.join(PATIENCE_SECONDS)
    look.end(PATIENCE_SECONDS)
    clock.seconds += 0.5 * health.REST_FACTOR - 0.1
    look()
    assert store.looks == 1
    clock.seconds += 0.2
    look()
    assert store.looks == 2


def test_many_who_ask_at_once_are_one_look(store: CountedStore) -> None:
    look = make_look(store, FakeClock())
    store.free.clear()
    answers: list[Health] = []
    asking = [threading.Thread(target=lambda: answers.append(look())) for _ in range(10)]
    for one in asking:
        one.start()
    store.free.set()
    for one in asking:
        one.join(PATIENCE_SECONDS)
    assert (len(answers), store.looks) == (10, 1)
    assert {answer.details.active_workers for answer in answers} == {0}


def test_a_store_that_hangs_is_waited_for_once_and_by_one_thread(
    store: CountedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    look = make_look(store, clock)
    store.free.clear()
    monkeypatch.setattr(health, "LOOK_SECONDS", 0.05)
    first = look()
    assert (first.status, first.checks[1].message) == ("degraded", "could not be read within 50ms")
    monkeypatch.setattr(health, "LOOK_SECONDS", 2.0)
    clock.seconds += 3600
    again = look()  # Would wait for two seconds, were it the first to ask.
    assert (again.checks[1].status, store.looks) == ("unknown", 1)
    store.free.set()
    look.end(PATIENCE_SECONDS)
    assert look().checks[1].message.startswith("no worker is active")


def test_a_store_that_is_known_to_be_away_is_not_asked(store: CountedStore) -> None:
    look = make_look(store, FakeClock(), lambda: "no route; is it running?")
    answer = look()
    assert (answer.status, answer.checks[0].message, store.looks) == ("unhealthy", "no route", 0)
