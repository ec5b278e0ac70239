"""assert_enqueued: what it finds, what it refuses, and what it says when it finds nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from unittest.mock import ANY
from uuid import UUID

import pytest

from penstock import App, Context, Exponential, JobType, Tenant, Unique, UsageError
from penstock.testing import FakeClock, Sandbox, sandbox

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@dataclass
class Line:
    sku: str
    pieces: int = 1


@dataclass
class Order:
    id: int
    day: date
    lines: list[Line]


@pytest.fixture
def jobs(app: App) -> Iterator[Sandbox]:
    with sandbox(app, clock=FakeClock(NOON)) as made:
        yield made


@pytest.fixture
def send_email(app: App) -> JobType[..., Any, ..., str]:
    @app.job(queue="mail", aliases=["old_name"])
    async def send_email(ctx: Context, to: str, subject: str = "hello", extra: dict[str, Any] | None = None) -> str:
        return f"sent to {to}"

    return send_email


@pytest.fixture
def ship(app: App) -> JobType[..., Any, ..., None]:
    @app.job
    def ship(order: Order, key: UUID | None = None) -> None: ...

    return ship


def order() -> Order:
    return Order(7, date(2030, 1, 2), [Line("lamp", 2), Line("desk")])


Job = JobType[..., Any, ..., Any]


def test_by_type_by_name_and_by_old_name(jobs: Sandbox, send_email: Job) -> None:
    job = send_email.enqueue("ada@example.org")
    for what in (send_email, "send_email", "old_name"):
        assert jobs.assert_enqueued(what).id == job.id
    assert jobs.assert_enqueued().id == job.id


def test_by_name_without_a_handler(app: App, jobs: Sandbox) -> None:
    app.enqueue("elsewhere", {"when": "2030-01-01T00:00:00Z", "n": 1})
    jobs.assert_enqueued("elsewhere", n=1, when=datetime(2030, 1, 1, tzinfo=UTC))
    jobs.assert_not_enqueued("elsewhere", n=2)


@pytest.mark.parametrize(
    "fields",
    [
        {"to": "ada@example.org"},
        {"subject": "hello"},
        {"to": str},
        {"to": ANY, "extra": ANY},
        {"to": lambda to: to.endswith("@example.org")},
        {"extra": {"a": {"b": 1}}},
        {"extra": {"a": {"list": [1, ANY]}}},
        {"extra": {"a": {"list": lambda found: len(found) == 2}}},
    ],
)
def test_a_payload_matches_in_part(jobs: Sandbox, send_email: Job, fields: dict[str, Any]) -> None:
    send_email.enqueue("ada@example.org", extra={"a": {"b": 1, "list": [1, 2]}, "more": None})
    jobs.assert_enqueued(send_email, **fields)
    jobs.assert_enqueued(send_email, fields)


@pytest.mark.parametrize(
    ("fields", "difference"),
    [
        ({"to": "bob@example.org"}, "to is 'ada@example.org', not 'bob@example.org'"),
        ({"to": int}, "to is 'ada@example.org', not a value of type int"),
        ({"to": lambda to: to.missing}, "for which <lambda> raised AttributeError: 'str' object"),
        ({"extra": {"a": {"b": 2}}}, "extra.a.b is 1, not 2"),
        ({"extra": {"a": {"c": ANY}}}, "extra.a.c is missing"),
        ({"extra": {"a": {"list": [1]}}}, "extra.a.list has 2 items, not 1: [1, 2]"),
        ({"extra": {"a": {"list": [1, 3]}}}, "extra.a.list[1] is 2, not 3"),
        ({"extra": {"a": {"b": {"c": 1}}}}, "extra.a.b is 1, not a dict"),
        ({"extra": None}, "extra is {'a': {'b': 1, 'list': [1, 2]}}, not None"),
    ],
)
def test_the_message_says_where_a_payload_differs(
    jobs: Sandbox, send_email: Job, fields: dict[str, Any], difference: str
) -> None:
    send_email.enqueue("ada@example.org", extra={"a": {"b": 1, "list": [1, 2]}})
    with pytest.raises(AssertionError) as failed:
        jobs.assert_enqueued(send_email, fields)
    assert difference in str(failed.value)


@pytest.mark.parametrize(
    "expected",
    [
        order(),
        {"id": 7},
        {"day": date(2030, 1, 2)},
        {"day": "2030-01-02"},
        {"lines": [{"sku": "lamp"}, {"pieces": 1}]},
        {"lines": [Line("lamp", 2), ANY]},
        lambda found: found.lines[0].pieces == 2,
        Order,
    ],
)
def test_typed_payloads_are_compared_as_the_handler_gets_them(jobs: Sandbox, ship: Job, expected: Any) -> None:
    ship.enqueue(order(), UUID(int=5))
    jobs.assert_enqueued(ship, order=expected, key=UUID(int=5))


def test_a_typed_payload_that_differs(jobs: Sandbox, ship: Job) -> None:
    ship.enqueue(order())
    jobs.assert_not_enqueued(ship, order={"lines": [{"sku": "desk"}, ANY]})
    with pytest.raises(AssertionError, match=r"order\.lines\[0\]\.sku is 'lamp', not 'desk'"):
        jobs.assert_enqueued(ship, order={"lines": [{"sku": "desk"}, ANY]})


OPTIONS = {
    "delay": "5m",
    "priority": 10,
    "queue": "slow",
    "tags": ["a", "b"],
    "tenant": Tenant("acme", "eu"),
    "unique": Unique("welcome:7", per="1h", scope="type"),
    "timeout": "30s",
    "attempts": 7,
    "backoff": Exponential("2s", cap="1m"),
    "ttl": "1h",
    "capability": "media",
}


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("delay", ["5m", 300, timedelta(minutes=5), 300.5, lambda seconds: 200 < seconds < 400], ["4m", "6m", 0]),
        ("at", [NOON + timedelta(minutes=5), NOON + timedelta(seconds=300.5)], [NOON, NOON + timedelta(days=1)]),
        ("priority", [10, int], [9]),
        ("queue", ["slow", ANY, str], ["mail"]),
        ("tags", [["a"], ["b", "a"], [], lambda tags: "a" in tags], [["c"], ["a", "c"]]),
        ("tenant", [Tenant("acme", "eu"), Tenant("acme"), "acme"], [Tenant("acme", "us"), "other", None]),
        (
            "unique",
            ["welcome:7", Unique("welcome:7"), Unique("welcome:7", per=3600)],
            ["x", Unique("welcome:7", "2h"), Unique("welcome:7", scope="queue")],
        ),
        ("timeout", ["30s", 30], ["31s", None]),
        ("attempts", [7], [3]),
        ("backoff", [Exponential("2s", cap="1m")], [Exponential("2s")]),
        ("ttl", ["60m"], [None]),
        ("capability", ["media"], ["general"]),
    ],
)
def test_options(jobs: Sandbox, send_email: Job, name: str, right: list[Any], wrong: list[Any]) -> None:
    send_email.using(**OPTIONS).enqueue("ada@example.org")  # type: ignore[arg-type]
    for value in right:
        jobs.assert_enqueued(send_email, to=ANY, **{name: value})
    for value in wrong:
        jobs.assert_not_enqueued(send_email, to=ANY, **{name: value})
        with pytest.raises(AssertionError, match=rf"\n      {name} (is|are) "):
            jobs.assert_enqueued(send_email, **{name: value})


def test_options_of_the_type_count_too(jobs: Sandbox, send_email: Job) -> None:
    send_email.enqueue("ada@example.org")
    jobs.assert_enqueued(send_email, queue="mail", attempts=3, delay=0, unique=None, tenant=None)


def test_count(jobs: Sandbox, send_email: Job) -> None:
    first, second = send_email.enqueue("ada"), send_email.enqueue("bob")
    assert [job.id for job in jobs.assert_enqueued(send_email, count=2)] == [first.id, second.id]
    assert jobs.assert_enqueued(send_email, to="eve", count=0) == []
    with pytest.raises(AssertionError, match=r"send_email was enqueued 2 times; expected: 3\."):
        jobs.assert_enqueued(send_email, count=3)
    with pytest.raises(AssertionError, match=r"send_email with to='ada' was enqueued once; expected: 0\."):
        jobs.assert_enqueued(send_email, to="ada", count=0)


def test_the_nearest_comes_first(app: App, jobs: Sandbox, send_email: Job) -> None:
    app.enqueue("other", {"to": "ada@example.org"})
    send_email.using(delay="1h").enqueue("zed@example.net", subject="bye")
    send_email.enqueue("ada@example.com")
    with pytest.raises(AssertionError) as failed:
        jobs.assert_enqueued(send_email, to="ada@example.org", subject="hello")
    assert str(failed.value).splitlines() == [
        "send_email with to='ada@example.org', subject='hello' was not enqueued.",
        "",
        "Enqueued were 3, the nearest first:",
        "  send_email(to='ada@example.com') queue='mail'",
        "      to is 'ada@example.com', not 'ada@example.org'",
        "  send_email(to='zed@example.net', subject='bye') queue='mail' delay=3600.0",
        "      to is 'zed@example.net', not 'ada@example.org'",
        "      subject is 'bye', not 'hello'",
        "  other(to='ada@example.org')",
    ]


def test_a_long_list_is_cut(jobs: Sandbox, send_email: Job) -> None:
    for number in range(25):
        send_email.enqueue(f"{number}@example.org", subject="x" * 1000)
    with pytest.raises(AssertionError) as failed:
        jobs.assert_enqueued(send_email, to="ada@example.org")
    assert "… and 15 more" in str(failed.value)
    assert len(str(failed.value)) < 5000


def test_nothing_at_all(jobs: Sandbox, send_email: Job) -> None:
    with pytest.raises(AssertionError, match="Nothing was enqueued in this sandbox"):
        jobs.assert_enqueued(send_email)


def test_not_enqueued_shows_what_was(jobs: Sandbox, send_email: Job) -> None:
    send_email.enqueue("ada")
    with pytest.raises(AssertionError, match=r"any job was enqueued once:\n  send_email\(to='ada'\)"):
        jobs.assert_not_enqueued()


@pytest.mark.parametrize(
    ("what", "payload", "fields", "message"),
    [
        ("send_emial", None, {}, "no job is called 'send_emial'; did you mean 'send_email'?"),
        ("send_email", None, {"too": "x"}, "send_email has no parameter 'too'; its parameters are: to, subject"),
        ("send_email", {"too": "x"}, {}, "send_email has no parameter 'too'"),
        ("send_email", {"queue": "x"}, {}, "send_email has no parameter 'queue'"),
        ("send_email", "ada", {}, "the payload is a str: give its fields by name"),
        (7, None, {}, "7 is not a job"),
        ("clash", None, {"queue": "x"}, "queue= may mean the parameter of clash or the enqueue itself"),
        ("clash", None, {"count": 1}, "count= may mean the parameter of clash"),
    ],
)
def test_a_search_that_can_find_nothing_is_an_error(
    app: App, jobs: Sandbox, send_email: Job, what: Any, payload: Any, fields: dict[str, Any], message: str
) -> None:
    @app.job
    async def clash(queue: str, count: int) -> None: ...

    asserts: tuple[Callable[..., Any], ...] = (jobs.assert_enqueued, jobs.assert_not_enqueued)
    for ask in asserts:
        with pytest.raises(UsageError) as refused:
            ask(what, payload, **fields)
        assert message in str(refused.value)
    clash.enqueue("value", 3)
    jobs.assert_enqueued(clash, {"queue": "value", "count": 3}, queue="default", count=1)


def test_what_was_not_stored_was_not_enqueued(app: App, jobs: Sandbox, send_email: Job) -> None:
    unique = send_email.using(unique=Unique("one"))
    unique.enqueue("ada")
    assert not unique.enqueue("bob").created

    def roll_back() -> None:
        with app.transaction() as tx:
            send_email.using(conn=tx).enqueue("eve")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        roll_back()
    with app.transaction() as tx:
        send_email.using(conn=tx).enqueue("mia")
    assert [job.payload["to"] for job in jobs.enqueued] == ["ada", "mia"]


def test_what_ran_and_was_removed_still_was_enqueued(jobs: Sandbox, send_email: Job) -> None:
    send_email.using(remove_on_complete=True, delay="1h").enqueue("ada")
    assert jobs.run().completed == 1
    jobs.assert_enqueued(send_email, to="ada", delay="1h")


def test_follow_ups_are_enqueued_with_their_parent(app: App, jobs: Sandbox, send_email: Job) -> None:
    @app.job
    async def sign_up(ctx: Context, name: str) -> None:
        ctx.enqueue(send_email.bind(name))

    parent = sign_up.enqueue("ada")
    jobs.assert_not_enqueued(send_email)
    jobs.run()
    child = jobs.assert_enqueued(send_email, to="ada")
    assert child.result() == "sent to ada"
    assert jobs.enqueued[1].parent == parent.id
