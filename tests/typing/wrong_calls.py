"""Calls that every type checker must reject, each with the error that it must report on that line."""

from __future__ import annotations

from penstock import Context
from tests.typing.declarations import app, clean_up, count_words, resize, send_email


def enqueue_plainly() -> None:
    send_email.enqueue()  # error: mypy[call-arg] pyright[reportCallIssue]
    send_email.enqueue(7)  # error: mypy[arg-type] pyright[reportArgumentType]
    send_email.enqueue("a@b.c", topic="hi")  # error: mypy[call-arg] pyright[reportCallIssue]
    send_email.enqueue("a@b.c", "hi", "more")  # error: mypy[call-arg] pyright[reportCallIssue]
    resize.enqueue("cat.png")  # error: mypy[call-arg] pyright[reportCallIssue]
    resize.enqueue("cat.png", 100)  # error: mypy[call-arg] pyright[reportCallIssue]
    resize.enqueue("cat.png", width="100")  # error: mypy[arg-type] pyright[reportArgumentType]
    clean_up.enqueue("something")  # error: mypy[call-arg] pyright[reportCallIssue]


async def enqueue_in_async_code() -> None:
    await count_words.aenqueue(7)  # error: mypy[arg-type] pyright[reportArgumentType]
    await count_words.aenqueue()  # error: mypy[call-arg] pyright[reportCallIssue]
    await send_email.aenqueue("a@b.c", subject=None)  # error: mypy[arg-type] pyright[reportArgumentType]


def context_is_not_payload(ctx: Context) -> None:
    send_email.enqueue(ctx, "a@b.c")  # error: mypy[arg-type] pyright[reportArgumentType]
    clean_up.enqueue(ctx)  # error: mypy[call-arg] pyright[reportCallIssue]


def follow() -> None:
    count_words.enqueue("one").result().upper()  # error: mypy[attr-defined] pyright[reportAttributeAccessIssue]
    resize.enqueue("cat.png", width=1).result().keys()  # error: mypy[attr-defined] pyright[reportAttributeAccessIssue]
    count_words.enqueue("one").outcome()  # error: mypy[attr-defined] pyright[reportAttributeAccessIssue]
    count_words.enqueue("one").result(timeout="10s")  # error: mypy[arg-type] pyright[reportArgumentType]


def options() -> None:
    send_email.using(dealy="5m").enqueue("a@b.c")  # error: mypy[call-arg] pyright[reportCallIssue]
    send_email.using(priority="high").enqueue("a@b.c")  # error: mypy[arg-type] pyright[reportArgumentType]
    send_email.using(tenant="acme").enqueue("a@b.c")  # error: mypy[arg-type] pyright[reportArgumentType]
    send_email.using(delay="5m").enqueue(7)  # error: mypy[arg-type] pyright[reportArgumentType]
    send_email.using(delay="5m").bind()  # error: mypy[call-arg] pyright[reportCallIssue]
    app.enqueue("send_email", {"to": "a@b.c"}, atempts=1)  # error: mypy[call-arg] pyright[reportCallIssue]


def bind_many() -> None:
    count_words.bind(7)  # error: mypy[arg-type] pyright[reportArgumentType]
    resize.bind("cat.png", width=1, height=1)  # error: mypy[call-arg] pyright[reportCallIssue]
    app.enqueue_many([count_words.enqueue("one")])  # error: mypy[list-item] pyright[reportArgumentType]


def call_directly(ctx: Context) -> None:
    send_email(ctx, 7).close()  # error: mypy[arg-type] pyright[reportArgumentType]
    count_words(ctx, "one").close()  # error: mypy[arg-type,call-arg] pyright[reportCallIssue]
    resize("cat.png", width="100")  # error: mypy[arg-type] pyright[reportArgumentType]
    clean_up(ctx, 1)  # error: mypy[call-arg] pyright[reportCallIssue]


@app.job(atempts=5)  # error: mypy[call-overload,untyped-decorator] pyright[reportCallIssue]
def misspelt(x: int) -> None: ...


@app.job(attempts="5")  # error: mypy[call-overload,untyped-decorator] pyright[reportArgumentType]
def wrongly_typed(x: int) -> None: ...
