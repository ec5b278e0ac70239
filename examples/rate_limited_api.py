"""An API that allows 20 requests per second, and two workers that would like to do far more.

Run it: python examples/rate_limited_api.py (makes sync.db in the current folder; takes about three seconds)
"""

from __future__ import annotations

import asyncio
import time

from penstock import App, Context, RateLimit

REQUESTS = 20
ORDERS = 50

app = App("sqlite:///sync.db")


class Api:
    """Stands for the real one, and counts: in no second may there be more than it allows."""

    def __init__(self) -> None:
        self.requests: list[float] = []

    async def push(self, order: int) -> None:
        self.requests.append(time.monotonic())

    def worst_second(self) -> int:
        """A job begins at most 100 ms after its claim, and claims are what is counted: so much is left at the edges."""
        return max(sum(start <= other < start + 0.9 for other in self.requests) for start in self.requests)


api = Api()


@app.job(rate_limit=RateLimit("shop_api", REQUESTS, per="second"))
async def push_order(order: int) -> int:
    await api.push(order)
    return order


@app.job
async def local_work(ctx: Context, number: int) -> int:
    """Has no limit, and waits for nobody."""
    return number


async def work() -> None:
    """Two workers, until everything is done."""
    pushes = await app.aenqueue_many(push_order.bind(order) for order in range(ORDERS))
    others = await app.aenqueue_many(local_work.bind(number) for number in range(1000))
    workers = [asyncio.create_task(app.run_worker(worker_id=f"worker-{n}", concurrency=25)) for n in (1, 2)]
    for job in others:
        await job.aresult(timeout=30)
    print(f"all other work was done after {len(api.requests)} of {ORDERS} requests")
    for push in pushes:
        await push.aresult(timeout=30)
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    print(f"at most {REQUESTS} in a second: {api.worst_second() <= REQUESTS}")


def main() -> None:
    asyncio.run(work())
    app.close()


if __name__ == "__main__":
    main()
