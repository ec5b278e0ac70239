"""A declared job: still its function, and three ways to make jobs of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from penstock import App
from penstock.client.client import JobCall
from penstock.domain.errors import ConfigError, PayloadError, UsageError
from penstock.domain.options import Concurrency, RateLimit, Tenant


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


def test_the_keys_of_limits_are_filled_from_the_payload_and_its_defaults(app: App) -> None:
    @app.job(limit=Concurrency("store:{store}/{page.host}", 1))
    def crawl(store: int, page: dict[str, str], depth: int = 3) -> None: ...

    job = crawl.using(rate_limit=RateLimit("depth:{depth}", 5), tenant=Tenant("acme", "eu")).enqueue(7, {"host": "a"})
    assert job.read().keys == ("store:7/a", "depth:3")
    by_name = app.enqueue("crawl", {"store": 8, "page": {"host": "b"}})
    assert by_name.read().keys == ("store:8/b",)
    mine = crawl.using(limit=Concurrency("{tenant}/{tenant.workspace}", 2), tenant=Tenant("acme", "eu"))
    assert mine.enqueue(1, {}).read().keys == ("acme/eu",)


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("store:{shop}", r"names \{shop\}, which the handler does not have; its parameters are: store"),
        ("store:{", "not a usable template"),
        ("store:{}", "between braces stands a name"),
        ("store:{store!r}", "between braces stands a name"),
        ("store:{store:>9}", "between braces stands a name"),
        ("", "1 to 200 characters"),
        ("queue:{store}", "queue:NAME in the config limits a whole queue; in the code give it another"),
        ("type:crawl", "type:NAME in the config limits a whole type; in the code give it another, such as 'crawl'"),
    ],
)
def test_keys_that_cannot_be_filled_are_refused_at_the_declaration(app: App, key: str, wrong: str) -> None:
    def crawl(store: int) -> None: ...

    with pytest.raises(ConfigError, match=wrong):
        app.job(limit=Concurrency(key, 1))(crawl)
    with pytest.raises(ConfigError, match=wrong):
        app.job(rate_limit=RateLimit(key, 1))(crawl)


def test_keys_may_be_called_queue_or_type(app: App) -> None:
    job = app.enqueue("crawl", {"id": 7}, limit=Concurrency("queue", 1), rate_limit=RateLimit("types:{id}", 5))
    assert job.read().keys == ("queue", "types:7")


def test_a_key_that_looks_like_a_queue_once_it_is_filled_is_refused(app: App) -> None:
    with pytest.raises(ConfigError, match=r"the key 'queue:7' of a limit is not possible"):
        app.enqueue("crawl", {"what": "queue", "id": 7}, limit=Concurrency("{what}:{id}", 1))


def test_a_payload_without_a_value_for_the_key_is_refused_at_the_enqueue(app: App) -> None:
    @app.job(limit=Concurrency("store:{store}", 1))
    def crawl(store: int | None = None) -> None: ...

    with pytest.raises(PayloadError, match=r"no usable value for \{store\} of the key 'store:\{store\}'"):
        crawl.enqueue()
    with pytest.raises(PayloadError, match=r"no usable value for \{tenant\}"):
        crawl.using(limit=Concurrency("{tenant}", 1)).enqueue(1)
    assert crawl.using(limit=None).enqueue().read().keys == ()


def test_two_limits_for_one_key_are_refused_with_both(app: App) -> None:
    @app.job(limit=Concurrency("store:{store}", 1))
    def crawl(store: int) -> None: ...

    @app.job(limit=Concurrency("store:{shop}", 2))
    def sync(shop: int) -> None: ...

    crawl.enqueue(7)
    with pytest.raises(ConfigError, match=r"'store:7' has two limits: 1 at once by .*, and 2 at once by"):
        sync.enqueue(7)
    assert sync.enqueue(8).created


def test_two_limits_for_one_template_are_refused_with_both_types(app: App) -> None:
    @app.job(limit=Concurrency("store:{store}", 1))
    def discover(store: int) -> None: ...

    @app.job(limit=Concurrency("store:{store}", 5))
    def resync(store: int) -> None: ...

    for _ in range(4):
        discover.enqueue(7)
    both = r"'store:7' has two limits: 1 at once by .* of discover, and 5 at once by .* of resync"
    with pytest.raises(ConfigError, match=both):
        resync.enqueue(7)
    with pytest.raises(ConfigError, match=both):
        app.enqueue("resync", {"store": 7})
    with pytest.raises(ConfigError, match=r"and 3 at once by .* in using\(\)"):
        discover.using(limit=Concurrency("store:{store}", 3)).enqueue(7)
    assert resync.enqueue(8).created


def test_a_number_that_was_changed_in_all_types_that_share_it_is_a_new_number(tmp_path: Path) -> None:
    """Whichever of them is enqueued first by the new code."""
    for most in (1, 2, 3):
        with closing(App(f"sqlite:///{tmp_path}/jobs.db")) as deployed:

            @deployed.job(limit=Concurrency("store:{store}", most))
            def discover(store: int) -> None: ...

            @deployed.job(limit=Concurrency("store:{store}", most))
            def resync(store: int) -> None: ...

            first = discover if most == 1 else resync
            assert first.enqueue(7).created


def test_a_key_that_only_one_of_two_types_orders_is_refused_with_both(app: App) -> None:
    @app.job(limit=Concurrency("store:{store}", 1, ordered=True))
    def crawl(store: int) -> None: ...

    @app.job(limit=Concurrency("store:{shop}", 1))
    def sync(shop: int) -> None: ...

    crawl.enqueue(7)
    with pytest.raises(ConfigError, match=r"'store:7' has two limits: 1 at once, in order by .*, and 1 at once by"):
        sync.enqueue(7)


def test_wrong_arguments_fail_at_the_call(app: App) -> None:
    @app.job
    def send(to: str) -> None: ...

    with pytest.raises(TypeError, match="misses: to"):
        send.enqueue()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no parameter 'cc'"):
        send.bind("a", cc="b")  # type: ignore[call-arg]
