"""An e-mail server that is down for a while, an address that is wrong, and what becomes of each e-mail.

Run it: python examples/email_with_retries.py (makes mail.db in the current folder)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from penstock import App, Context, DoNotRetry, Fixed, JobFailed


@dataclass
class MailServer:
    """Stands for the real one: refuses the first two connections."""

    refusals_left: int = 2
    sent: list[str] = field(default_factory=list)

    async def send(self, to: str) -> None:
        if "@" not in to:
            raise DoNotRetry(f"{to!r} is not an address")
        if self.refusals_left > 0:
            self.refusals_left -= 1
            raise ConnectionRefusedError("the mail server is down")
        self.sent.append(to)


@asynccontextmanager
async def mail_server() -> AsyncIterator[MailServer]:
    yield MailServer()


app = App("sqlite:///mail.db", lifespan=mail_server)


# A real backoff would be Exponential("1s", cap="1h"); this one does not keep you waiting.
@app.job(queue="mail", attempts=5, backoff=Fixed(0), timeout="30s")
async def send_email(ctx: Context, to: str) -> str:
    await ctx.resources.send(to)
    return f"sent to {to} at attempt {ctx.attempt}"


def main() -> None:
    jobs = app.enqueue_many(send_email.bind(to) for to in ("ada@example.org", "nobody"))
    asyncio.run(app.run_worker(burst=True, concurrency=1))
    for job in jobs:
        try:
            print(job.result(timeout=10))
        except JobFailed as failed:
            print(f"dead letter: {failed}")
    app.close()


if __name__ == "__main__":
    main()
