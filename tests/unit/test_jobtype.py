"""A declared job: still its function, and three ways to make jobs of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import App
from penstock.client import JobCall
from penstock.domain.errors import ConfigError, UsageError
from penstock.domain.options import Concurrency, RateLimit


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    yield app
    app.close()


def test_calling_it_runs_the_function(app: App) -> None:
    @app.job
    def double(x: int) -> int:
        """Twice as much."""
        return 2 * x

    @app.job(name="other-name")
    async def later(x: int) -> int:
        return 2 * x

    assert double(4) == 8
    assert asyncio.run(later(4)) == 8
    assert (vars(double)["__name__"], double.__doc__, double.name) == ("double", "Twice as much.", "double")
    assert (repr(double), repr(later)) == ("<job type 'double'>", "<job type 'other-name'>")


def test_binding_makes_a_call_that_is_not_enqueued(app: App) -> None:
    @app.job(queue="mail")
    def send(to: str, subject: str = "hi") -> str:
        return to

    call = send.bind("a", subject="x")
    assert isinstance(call, JobCall)
    assert (call.type, call.payload, call.spec.queue) == ("send", '{"to":"a","subject":"x"}', "mail")
    assert call.result_type is str
    assert send.using(priority=7).bind("a").spec.priority == 7


def test_enqueue_from_plain_and_async_code(app: App) -> None:
    @app.job(queue="mail", attempts=7)
    def send(to: str) -> None: ...

    async def main() -> None:
        handle = await send.aenqueue("b")
        assert (await handle.aread()).payload == {"to": "b"}
        using = await send.using(delay="5m").aenqueue("c")
        assert (await using.aread()).state == "scheduled"
        with pytest.raises(UsageError, match="aenqueue"):
            send.enqueue("d")

    job = send.enqueue("a").read()
    assert (job.type, job.queue, job.max_attempts, job.payload) == ("send", "mail", 7, {"to": "a"})
    asyncio.run(main())


def test_options_of_one_enqueue_do_not_stick(app: App) -> None:
    @app.job
    def send(to: str) -> None: ...

    assert send.using(queue="slow", tags=["x"]).enqueue("a").read().queue == "slow"
    plain = send.enqueue("a").read()
    assert (plain.queue, plain.tags) == ("default", ())


def test_a_limit_that_nobody_would_keep_is_refused(app: App) -> None:
    @app.job
    def send(to: str) -> None: ...

    with pytest.raises(ConfigError, match="rate_limit= is not enforced"):
        send.using(rate_limit=RateLimit("k", 1))
    with pytest.raises(ConfigError, match="limit= is not enforced"):
        app.job(limit=Concurrency("k", 1))(lambda: None)


def test_wrong_arguments_fail_at_the_call(app: App) -> None:
    @app.job
    def send(to: str) -> None: ...

    with pytest.raises(TypeError, match="misses: to"):
        send.enqueue()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no parameter 'cc'"):
        send.bind("a", cc="b")  # type: ignore[call-arg]
