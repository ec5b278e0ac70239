"""A crawl of several shops: many pages, many workers, and never two jobs at once in one shop.

Run it: python examples/one_job_per_store.py (makes crawl.db in the current folder)
"""

from __future__ import annotations

import asyncio
from collections import Counter

from penstock import App, Concurrency

STORES = ("lamps", "chairs", "clocks")
PAGES = 20
ONE_AT_A_TIME = Concurrency("store:{store}", 1)

app = App("sqlite:///crawl.db")
active: Counter[str] = Counter()
most: Counter[str] = Counter()
together = 0


async def visit(store: str) -> None:
    """Stands for the request, and notes how many of them are under way."""
    global together
    active[store] += 1
    most[store] = max(most[store], active[store])
    together = max(together, active.total())
    await asyncio.sleep(0.002)
    active[store] -= 1


@app.job(limit=ONE_AT_A_TIME)
async def find_pages(store: str) -> None:
    """The key is shared by both types: while this runs, no page of the store is fetched."""
    await visit(store)
    await app.aenqueue_many(fetch_page.bind(store, page) for page in range(PAGES))


@app.job(limit=ONE_AT_A_TIME)
async def fetch_page(store: str, page: int) -> int:
    await visit(store)
    return page


def main() -> None:
    app.enqueue_many(find_pages.bind(store) for store in STORES)
    asyncio.run(app.run_worker(burst=True))
    for store in STORES:
        print(f"{store}: at most {most[store]} at once")
    print(f"shops at the same time: {together > 1}")
    states = Counter(str(count.state) for count in app.store.count_jobs().wait() for _ in range(count.jobs))
    print(f"jobs: {dict(states)}")
    app.close()


if __name__ == "__main__":
    main()
