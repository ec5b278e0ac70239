"""Calls that every type checker must reject, each with the error that it must report on that line."""

from __future__ import annotations

from penstock import Context, Handler
from tests.typing.declarations import (
    Consolidate,
    Text,
    app,
    clean_up,
    consolidate,
    count_words,
    embed,
    length,
    measure,
    resize,
    send_email,
)


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
    count_words.enqueue("one").result(timeout=[10])  # error: mypy[arg-type] pyright[reportArgumentType]


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


def classes(ctx: Context) -> None:
    consolidate.enqueue("a")  # error: mypy[arg-type] pyright[reportArgumentType]
    consolidate.enqueue()  # error: mypy[call-arg] pyright[reportCallIssue]
    consolidate.enqueue(ctx, Text("a"))  # error: mypy[arg-type,call-arg] pyright[reportCallIssue]
    consolidate.enqueue(Text("a")).result().upper()  # error: mypy[attr-defined] pyright[reportAttributeAccessIssue]
    length.bind(7)  # error: mypy[arg-type] pyright[reportArgumentType]
    app.register(Consolidate)  # error: mypy[arg-type] pyright[reportArgumentType]
    app.register(Consolidate(1.0), atempts=5)  # error: mypy[call-arg] pyright[reportCallIssue]
    app.register(count_words)  # error: mypy[arg-type] pyright[reportArgumentType]


def follow_ups() -> None:
    count_words.then(send_email)  # error: mypy[arg-type] pyright[reportArgumentType]
    count_words.then(consolidate)  # error: mypy[arg-type] pyright[reportArgumentType]
    count_words.then(resize)  # error: mypy[arg-type] pyright[reportArgumentType]
    count_words.then(lambda: clean_up.bind())  # error: mypy[arg-type,misc] pyright[reportArgumentType]
    count_words.then(lambda words: words)  # error: mypy[arg-type,return-value] pyright[reportArgumentType]
    count_words.then(lambda words: send_email.bind(words))  # error: mypy[arg-type] pyright[reportArgumentType]
    count_words.then(clean_up.bind())  # error: mypy[arg-type] pyright[reportArgumentType]
    count_words.then(clean_up, when=True)  # error: mypy[arg-type] pyright[reportArgumentType]
    count_words.then("clean_up")  # error: mypy[arg-type] pyright[reportArgumentType]


def spread() -> None:
    app.spread("resync", [count_words])  # error: mypy[list-item] pyright[reportArgumentType]
    app.spread("resync", [], mode="every")  # error: mypy[arg-type] pyright[reportArgumentType]
    app.spread("resync", [], start="2030-01-01")  # error: mypy[arg-type] pyright[reportArgumentType]
    app.spread("resync", [], batch=6)  # error: mypy[call-arg] pyright[reportCallIssue]


def batches() -> None:
    embed.enqueue("a")  # error: mypy[arg-type] pyright[reportArgumentType]
    embed.enqueue([Text("a")])  # error: mypy[arg-type] pyright[reportArgumentType]
    embed.enqueue(Text("a")).result().strip()  # error: mypy[attr-defined] pyright[reportAttributeAccessIssue]
    measure.enqueue(7)  # error: mypy[arg-type] pyright[reportArgumentType]
    app.batch_job(size="32")  # error: mypy[arg-type] pyright[reportArgumentType]


class WrongHook(Handler[str, int]):
    def is_retryable(self, error: OSError) -> bool:  # error: mypy[override] pyright[reportIncompatibleMethodOverride]
        return True

    def on_complete(self, ctx: Context) -> None: ...  # error: mypy[override] pyright[reportIncompatibleMethodOverride]


@app.batch_job()  # error: mypy[arg-type] pyright[reportArgumentType,reportCallIssue]
def not_a_list(items: list[str]) -> int:
    return len(items)


@app.job(atempts=5)  # error: mypy[call-overload,untyped-decorator] pyright[reportCallIssue]
def misspelt(x: int) -> None: ...


@app.job(attempts="5")  # error: mypy[call-overload,untyped-decorator] pyright[reportArgumentType]
def wrongly_typed(x: int) -> None: ...
