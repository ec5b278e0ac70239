"""Calls that must pass every type checker, with the types that they must see."""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

from penstock import Context, Exponential, Fixed, JobCall, JobHandle, Resources, State, Tenant, Unique
from tests.typing.declarations import (
    Text,
    add,
    app,
    clean_up,
    consolidate,
    count_words,
    embed,
    length,
    length_again,
    measure,
    resize,
    send_email,
)


def enqueue_plainly() -> None:
    assert_type(send_email.enqueue("a@b.c"), JobHandle[str])
    assert_type(send_email.enqueue("a@b.c", subject="hi"), JobHandle[str])
    assert_type(resize.enqueue("cat.png", width=100), JobHandle[list[int]])
    assert_type(count_words.enqueue(text="one two"), JobHandle[int])
    assert_type(clean_up.enqueue(), JobHandle[None])


async def enqueue_in_async_code() -> None:
    assert_type(await send_email.aenqueue("a@b.c", "hi"), JobHandle[str])
    assert_type(await resize.aenqueue("cat.png", width=100), JobHandle[list[int]])
    assert_type(await app.aenqueue("send_email", {"to": "a@b.c"}), JobHandle[Any])
    assert_type(await app.aenqueue_many([count_words.bind("one")]), list[JobHandle[Any]])


def follow() -> None:
    job = resize.enqueue("cat.png", width=100)
    assert_type(job.id, str)
    assert_type(job.created, bool)
    assert_type(job.result(timeout=10), list[int])
    assert_type(job.state(), State)
    assert_type(count_words.enqueue("one").result(), int)


async def follow_in_async_code() -> None:
    job = await count_words.aenqueue("one")
    assert_type(await job.aresult(timeout=1.5), int)
    assert_type(await job.astate(), State)


def options(tx: object) -> None:
    using = send_email.using(delay="5m", priority=10, unique=Unique("welcome:7", per="1h"), conn=tx)
    assert_type(using.enqueue("a@b.c"), JobHandle[str])
    resize.using(at=datetime(2030, 1, 1, tzinfo=UTC), tenant=Tenant("acme", "eu")).enqueue("cat.png", width=1)
    count_words.using(
        timeout=None, ttl=timedelta(minutes=5), tags=["a"], attempts=1, snoozes=9, backoff=Fixed("1s")
    ).enqueue("x")
    clean_up.using(id="018f0000-0000-7000-8000-000000000000", resources=Resources(cpu=1, memory="1Gi")).enqueue()
    send_email.using(queue="mail", capability="general", remove_on_complete=100, remove_on_fail=True).bind("a@b.c")
    app.enqueue("send_email", {"to": "a@b.c"}, delay=5, backoff=Exponential())


def bind_many() -> None:
    assert_type(send_email.bind("a@b.c", subject="hi"), JobCall[str])
    app.enqueue_many(send_email.bind(to) for to in ("a@b.c", "d@e.f"))
    app.enqueue_many([send_email.bind("a@b.c"), resize.using(priority=1).bind("cat.png", width=1)])


def call_directly(ctx: Context) -> None:
    assert_type(resize("cat.png", width=100), list[int])
    assert_type(clean_up(ctx), None)
    email: Coroutine[Any, Any, str] = send_email(ctx, "a@b.c", subject="hi")
    words: Coroutine[Any, Any, int] = count_words("one")
    email.close()
    words.close()
    ctx.enqueue(count_words.bind("one"))


def classes(ctx: Context) -> None:
    assert_type(consolidate.enqueue(Text("a")), JobHandle[list[float]])
    assert_type(consolidate.using(priority=1).enqueue(Text("a")).result(), list[float])
    assert_type(length.enqueue("a"), JobHandle[int])
    assert_type(length_again.bind("a"), JobCall[int])
    ctx.enqueue(consolidate.bind(Text("a")))


def follow_ups() -> None:
    count_words.then(add)
    count_words.then(clean_up)
    count_words.then(add.using(priority=5), when=lambda words: words > 3)
    count_words.then(lambda words: send_email.bind("a@b.c", subject=str(words + 1)))
    count_words.then(lambda words: [add.bind(number) for number in range(words)])
    count_words.then(lambda words: add.bind(words) if words > 3 else None)
    consolidate.then(lambda numbers: embed.bind(Text(str(numbers[0]))))
    resize.then(lambda sizes: consolidate.bind(Text(str(sizes[0] + 1))))
    send_email.then(length)
    embed.then(lambda vector: add.bind(round(vector[0])))
    measure.then(add)


async def spread() -> None:
    assert_type(app.spread("resync", (count_words.bind(word) for word in ("a", "b")), period="8h"), int)
    start = datetime(2030, 1, 1, tzinfo=UTC)
    assert_type(await app.aspread("resync", [add.bind(1)], batches=6, mode="each", start=start), int)


async def batches() -> None:
    assert_type(await embed.aenqueue(Text("a")), JobHandle[list[float]])
    assert_type(measure.enqueue("a").result(), int)
    await app.aenqueue_many(embed.bind(Text(text)) for text in ("a", "b"))
