"""The jobs that right_calls.py and wrong_calls.py call: every shape of handler that a type checker must see through."""

from __future__ import annotations

from penstock import App, Context, Exponential

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


@app.job()
def clean_up(ctx: Context) -> None:
    ctx.report(100)
