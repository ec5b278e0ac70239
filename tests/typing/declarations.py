"""The jobs that right_calls.py and wrong_calls.py call: every shape of handler that a type checker must see through."""

from __future__ import annotations

from dataclasses import dataclass

from penstock import App, BatchContext, Context, Exponential, Failed, Handler, Progress

app = App("sqlite:///typing.db")


@app.job
async def send_email(ctx: Context, to: str, subject: str = "hello") -> str:
    return f"{to} {subject} {ctx.id}"


@app.job(queue="media", attempts=5, backoff=Exponential("1s", cap="1h"), timeout="30s")
def resize(path: str, *, width: int) -> list[int]:
    return [len(path), width]


@app.job(name="count-words")
async def count_words(text: str) -> int:
    return len(text.split())


@app.job
async def add(number: int, to: int = 0) -> int:
    return number + to


@app.job()
def clean_up(ctx: Context) -> None:
    ctx.report(100)


@dataclass
class Text:
    text: str


class Consolidate(Handler[Text, list[float]]):
    def __init__(self, scale: float) -> None:
        self.scale = scale

    async def process(self, ctx: Context, data: Text) -> list[float]:
        return [len(data.text) * self.scale]

    async def on_complete(self, ctx: Context, result: list[float]) -> None: ...

    def on_failed(self, ctx: Context, error: BaseException) -> None: ...

    def on_progress(self, ctx: Context, progress: Progress) -> None: ...

    def is_retryable(self, error: BaseException) -> bool:
        return not isinstance(error, ValueError)


class Length(Handler[str, int]):
    def process(self, ctx: Context, data: str) -> int:
        return len(data)


consolidate = app.register(Consolidate(0.5), name="consolidate", queue="memory", attempts=5)
length = app.job(Length)
length_again = app.job(name="length-again", attempts=1)(Length)


@app.batch_job(size=32, wait="50ms")
async def embed(items: list[Text]) -> list[list[float] | Failed]:
    return [Failed("empty") if not item.text else [1.0] for item in items]


@app.batch_job(attempts=5)
def measure(ctx: BatchContext, words: list[str]) -> list[int]:
    return [len(word) for word, _ in zip(words, ctx.jobs, strict=True)]
