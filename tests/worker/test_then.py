"""Follow-ups by declaration: enqueued with the completion, with the result, on a condition; and what goes wrong."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import App, Concurrency, ConfigError, Context, Failed, Fixed, Handler, State, Tenant, Unique, current
from penstock.domain.job import Job
from penstock.store.contract import ListJobs
from tests.worker import process_jobs
from tests.worker.running import burst


@dataclass
class Page:
    url: str
    ok: bool = True


def found(app: App, name: str) -> list[Job]:
    """The jobs of this type, the oldest first."""
    return sorted(app.store.list_jobs(ListJobs(type=name)).wait(), key=lambda job: job.id)


def payloads(app: App, name: str) -> list[Any]:
    return [job.payload for job in found(app, name)]


class FetchClass(Handler[Page, Page]):
    async def process(self, ctx: Context, data: Page) -> Page:
        return data


def declared(app: App, kind: str) -> Any:
    """A job that takes a page and answers it, in every form that a handler can have."""

    async def fetch_async(page: Page) -> Page:
        await asyncio.sleep(0)
        return page

    def fetch_plain(page: Page) -> Page:
        return page

    async def fetch_many(pages: list[Page]) -> list[Page | Failed]:
        return [page if page.ok else Failed("not there") for page in pages]

    def finish_itself(ctx: Context, page: Page) -> None:
        with app.transaction() as tx:
            ctx.finish_in(tx, page)

    if kind == "class":
        return app.job(name="fetch", attempts=1)(FetchClass)
    if kind == "batch":
        return app.batch_job(name="fetch", attempts=1, size=10, wait="1h")(fetch_many)
    handler: Any = {"async": fetch_async, "plain": fetch_plain, "finish_in": finish_itself}[kind]
    return app.job(name="fetch", attempts=1)(handler)


@pytest.mark.parametrize("kind", ["async", "plain", "class", "batch", "finish_in"])
def test_a_type_is_enqueued_with_the_result_and_a_function_answers_calls(app: App, kind: str) -> None:
    @app.job
    async def parse(page: Page) -> str:
        return page.url

    @app.job
    async def index(url: str) -> None: ...

    @app.job
    async def count() -> None: ...

    fetch = declared(app, kind)
    fetch.then(parse)
    fetch.then(lambda page: index.bind(page.url.upper()))
    fetch.then(lambda page: [index.using(priority=7).bind(letter) for letter in page.url])
    fetch.then(lambda page: None)
    fetch.then(count, when=lambda page: page.url == "b")
    a, b = app.enqueue_many(fetch.bind(Page(url)) for url in ("a", "b"))
    burst(app)
    assert (a.state(), b.state()) == (State.COMPLETED, State.COMPLETED)
    assert {(job.parent, job.result) for job in found(app, "parse")} == {(a.id, "a"), (b.id, "b")}
    assert sorted((job.payload["url"], job.priority) for job in found(app, "index")) == [
        ("A", 0), ("B", 0), ("a", 7), ("b", 7),
    ]  # fmt: skip
    assert [job.parent for job in found(app, "count")] == [b.id]


def test_a_chain_of_three(app: App) -> None:
    @app.job
    async def fetch(url: str) -> Page:
        return Page(url)

    @app.job
    def parse(page: Page) -> int:
        return len(page.url)

    @app.job
    async def store(words: int, *, table: str = "pages") -> str:
        return f"{words} in {table}"

    fetch.then(parse)
    parse.then(store)
    fetch.enqueue("abc")
    burst(app)
    (last,) = found(app, "store")
    assert last.result == "3 in pages"
    assert last.parent == found(app, "parse")[0].id


def test_only_a_completion_is_followed(app: App) -> None:
    @app.job
    async def after(attempt: int) -> None: ...

    @app.job(attempts=2, backoff=Fixed(0))
    async def work(ctx: Context, dies: bool) -> int:
        if dies or ctx.attempt == 1:
            raise ValueError("not yet")
        return ctx.attempt

    work.then(after)
    work.enqueue(True)
    work.enqueue(False)
    burst(app)
    assert payloads(app, "after") == [{"attempt": 2}]


def test_what_the_handler_enqueues_itself_comes_first_and_both_are_stored(app: App) -> None:
    @app.job
    async def after(word: str) -> None: ...

    @app.job
    async def work(ctx: Context) -> str:
        ctx.enqueue(after.bind("by hand"))
        return "declared"

    work.then(after)
    work.enqueue()
    burst(app)
    assert payloads(app, "after") == [{"word": "by hand"}, {"word": "declared"}]


@pytest.mark.parametrize("where", ["when", "function"])
def test_what_raises_fails_the_attempt_and_the_retry_may_succeed(app: App, where: str) -> None:
    asked: list[int] = []

    @app.job
    async def after() -> None: ...

    @app.job(attempts=2, backoff=Fixed(0))
    async def work(ctx: Context) -> int:
        return ctx.attempt

    def moody(attempt: int) -> bool:
        asked.append(attempt)
        if attempt == 1:
            raise SystemExit(3)
        return True

    if where == "when":
        work.then(after, when=moody)
    else:
        work.then(lambda attempt: after.bind() if moody(attempt) else None)
    job = work.enqueue()
    burst(app)
    assert (job.result(timeout=0), asked) == (2, [1, 2])
    assert len(found(app, "after")) == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("parse", "answered a str: it answers a call made by bind()"),
        ([7], "answered a int: it answers a call made by bind(), a list of such calls, or None"),
        ({}, "answered a dict"),
        (asyncio.sleep, "is async; it is asked at once: make it a plain function"),
    ],
)
def test_an_answer_that_is_no_call_names_the_fix(app: App, answer: Any, message: str) -> None:
    @app.job(attempts=1)
    async def work() -> int:
        return 0

    work.then(lambda result: answer(result) if callable(answer) else answer)
    job = work.enqueue()
    burst(app)
    error = job.read().error
    assert error is not None
    assert error.type.endswith("UsageError")
    assert message in error.message
    assert job.state() is State.DEAD


def test_a_result_that_does_not_fit_the_next_type_is_an_error_of_this_one(app: App) -> None:
    @app.job
    async def after(number: int) -> None: ...

    @app.job(attempts=1)
    async def work() -> Any:
        return "seven"

    work.then(after)
    job = work.enqueue()
    burst(app)
    error = job.read().error
    assert error is not None
    assert "the payload does not fit the handler's parameters" in error.message
    assert found(app, "after") == []


def test_an_error_in_finish_in_is_raised_in_the_handler(app: App) -> None:
    told: list[str] = []

    @app.job(attempts=1)
    def pay(ctx: Context) -> Any:
        with pytest.raises(ZeroDivisionError), app.transaction() as tx:
            ctx.finish_in(tx, 0)
        with app.transaction() as tx:
            ctx.finish_in(tx, 1)
        told.append("went on")

    @app.job
    async def after() -> None: ...

    pay.then(after, when=lambda result: 1 / result)
    job = pay.enqueue()
    burst(app)
    assert (job.result(timeout=0), told) == (1, ["went on"])
    assert len(found(app, "after")) == 1


# Tenants and tags


def test_follow_ups_have_the_tenant_and_the_tags_of_their_parent(app: App) -> None:
    acme, globex = Tenant("acme", "eu"), Tenant("globex")

    @app.job
    async def after() -> None: ...

    @app.job(tenant=globex, tags=["own"])
    async def of_its_own() -> None: ...

    @app.job
    async def work(ctx: Context) -> None:
        ctx.enqueue(after.bind())
        ctx.enqueue(of_its_own.bind())
        ctx.enqueue(after.using(tags=["other"]).bind())

    work.then(after)
    work.then(of_its_own)
    work.using(tenant=acme, tags=["import"]).enqueue()
    burst(app)
    told = [(job.tenant, job.tags) for job in found(app, "after")]
    assert told == [(acme, ("import",)), (acme, ("other",)), (acme, ("import",))]
    assert [(job.tenant, job.tags) for job in found(app, "of_its_own")] == [(globex, ("own",))] * 2


@pytest.mark.parametrize("how", ["then", "function", "enqueue"])
def test_keys_that_are_one_per_tenant_are_filled_from_the_parent(app: App, how: str) -> None:
    @app.job(limit=Concurrency("sync:{tenant}", 1), unique=Unique("report", scope="tenant"))
    async def report() -> None: ...

    @app.job
    async def work(ctx: Context) -> None:
        if how == "enqueue":
            ctx.enqueue(report.bind())

    if how == "then":
        work.then(report)
    if how == "function":
        work.then(lambda _: report.bind())
    for name in ("acme", "globex"):
        work.using(tenant=Tenant(name)).enqueue()
    burst(app)
    assert sorted(job.keys for job in found(app, "report")) == [
        ('tenant "acme": report', "sync:acme"),
        ('tenant "globex": report', "sync:globex"),
    ]


def test_a_call_without_need_of_a_tenant_is_nobodys(app: App) -> None:
    @app.job(unique=Unique("other"))
    async def other() -> None: ...

    @app.job
    async def work() -> None:
        await other.aenqueue()

    work.using(tenant=Tenant("acme")).enqueue()
    burst(app)
    assert [job.tenant for job in found(app, "other")] == [None]


# Child processes


def test_in_a_child_process_the_functions_see_what_the_handler_returned(process_app: App) -> None:
    job = process_jobs.crawl.using(tenant=Tenant("acme")).enqueue("https://shop.example/id", ["a", "b"])
    process_jobs.crawl.enqueue("https://shop.example", [])
    burst(process_app, process_slots=1)
    assert sorted(one.payload["value"] for one in found(process_app, "echo")) == sorted(["a", "b", job.id])
    assert {(one.parent, one.tenant) for one in found(process_app, "echo")} == {(job.id, Tenant("acme"))}


def test_a_batch_in_a_child_process(process_app: App) -> None:
    process_app.enqueue_many(process_jobs.shorten.bind(word) for word in ("one", "", "xylophone", "two"))
    burst(process_app, process_slots=1)
    assert sorted(one.result for one in found(process_app, "echo")) == ["o", "t"]


def test_finish_in_in_a_child_process(process_app: App, tmp_path: Path) -> None:
    job = process_jobs.pay.enqueue(f"sqlite:///{tmp_path}/jobs.db")
    burst(process_app, process_slots=1)
    assert job.result(timeout=0) == "paid"
    assert [(one.parent, one.result) for one in found(process_app, "echo")] == [(job.id, "paid")]


def test_an_error_in_a_child_process_fails_the_attempt(process_app: App) -> None:
    job = process_jobs.crawl.enqueue("no address", ["a"])
    burst(process_app, process_slots=1)
    error = job.read().error
    assert error is not None
    assert (job.state(), error.type) == (State.DEAD, "IndexError")
    assert found(process_app, "echo") == []


def test_what_is_declared_after_the_import_is_refused_where_children_would_not_know_it(process_app: App) -> None:
    process_jobs.crawl.then(process_jobs.echo)
    try:
        process_jobs.crawl.enqueue("https://shop.example", [])
        with pytest.raises(ConfigError, match=r"then\(\) of 'crawl' was not called when its module was only imported"):
            burst(process_app, process_slots=1)
    finally:
        process_jobs.crawl.declaration.follow_ups.pop()


# What is refused when it is declared


def test_wrong_declarations(app: App) -> None:
    @app.job
    async def fetch(url: str) -> str:
        return url

    @app.job
    async def move(source: str, target: str, fast: bool = False) -> None: ...

    other = App("sqlite:///other.db")

    @other.job
    async def elsewhere(url: str) -> None: ...

    async def later(url: str) -> None: ...

    def refused(message: str, follow_up: Any, **arguments: Any) -> None:
        with pytest.raises(ConfigError) as caught:
            fetch.then(follow_up, **arguments)
        assert message in str(caught.value)
        assert "fetch" in str(caught.value)

    refused("hands on one value, the result, and move needs 2 arguments: source, target; give a function", move)
    refused("fetch.then(lambda result: move.bind(…))", move.using(priority=1))
    refused("takes a job type, or a function that answers a call made by bind(), not 'parse'", "parse")
    refused("takes a job type, or a function", move.bind("a", "b"))
    refused("is async; it is asked at once: make it a plain def", later)
    refused("is called with one argument, the result", lambda: None)
    refused("is called with one argument, the result", lambda a, b: None)
    refused("when=True of fetch.then() is not possible", fetch, when=True)
    refused("is async; it is asked at once", fetch, when=later)
    refused("the when= of fetch.then() is called with one argument", fetch, when=lambda: True)
    refused("elsewhere is a job of another App", elsewhere)
    refused("leave conn= and id= out", fetch.using(conn=object()))
    refused("leave conn= and id= out", fetch.using(id="018f0000-0000-7000-8000-000000000000"))
    assert fetch.declaration.follow_ups == []


def test_a_builtin_may_be_the_condition(app: App) -> None:
    @app.job
    async def fetch() -> list[str]:
        return sys.argv[:0]

    fetch.then(fetch, when=bool)
    fetch.enqueue()
    burst(app)
    assert len(found(app, "fetch")) == 1


def test_current_is_the_job_that_completed(app: App) -> None:
    @app.job
    async def note(parent: str) -> None: ...

    @app.job
    def work() -> None: ...

    work.then(lambda _: note.bind(current().id))
    job = work.enqueue()
    burst(app)
    assert payloads(app, "note") == [{"parent": job.id}]
