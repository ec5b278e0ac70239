"""The five roles of the crawler, what follows what, and the one thing that holds for all of them: one job per store.

A worker for them, beside the mall (python mall.py): penstock worker roles:app
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import catalogue

from penstock import App, Concurrency, Context, Fixed

DIRECTORY = os.environ.get("STOREFRONT_DIRECTORY", "http://127.0.0.1:8765/stores.json")
ONE_PER_STORE = Concurrency("store:{store_id}", 1)
BACKOFF = Fixed(0)  # A real one would be Exponential("1s", cap="1h"); this one does not keep you waiting.
PLATFORM = re.compile(r'<meta name="platform" content="([\w-]+)">')

app = App("sqlite:///storefront.db")


@dataclass
class EntryPoint:
    """What was found on the front page of a store."""

    store_id: str
    platform_id: str | None


# The roles. All of a store share one key: whatever their types, one of them runs at a time.


@app.job(priority=0, backoff=BACKOFF)
def store_discovery(directory: str = DIRECTORY) -> list[str]:
    """Daily: read the directory. Answers the stores at which nobody has looked yet."""
    return catalogue.save_stores({store["id"]: store["url"] for store in json.loads(fetch(directory))})


@app.job(priority=10, backoff=BACKOFF, limit=ONE_PER_STORE)
def entry_point_discovery(store_id: str) -> EntryPoint:
    """On demand: look at the front page for the platform that the store runs on."""
    found = PLATFORM.search(fetch(catalogue.url_of(store_id)))
    entry_point = EntryPoint(store_id, found[1] if found else None)
    catalogue.save_platform(store_id, entry_point.platform_id)
    return entry_point


@app.job(priority=10, backoff=BACKOFF, limit=ONE_PER_STORE)
def product_discovery(ctx: Context, store_id: str) -> int:
    """After the entry point: read all pages of products for the first time."""
    return sum(catalogue.save_products(store_id, products) for products in pages(ctx, store_id))


@app.job(priority=0, backoff=BACKOFF, limit=ONE_PER_STORE, remove_on_complete=100)
def product_resync(ctx: Context, store_id: str) -> int:
    """Every four hours: read them again. Answers how many have changed."""
    return sum(catalogue.save_products(store_id, products) for products in pages(ctx, store_id))


@app.job(priority=0)
def analytics_refresh() -> int:
    """Daily: make the table of figures anew."""
    return catalogue.refresh_analytics()


# What follows what. It is stored together with the completion of the job before.

store_discovery.then(lambda new: [entry_point_discovery.bind(store_id) for store_id in new])
entry_point_discovery.then(
    lambda entry: product_discovery.bind(entry.store_id), when=lambda entry: entry.platform_id is not None
)


# Six batches a day


@app.job(priority=0)
async def plan_resync() -> int:
    """Daily: all stores every four hours. If it is run twice, or by two, the day is still planned once."""
    calls = [product_resync.bind(store_id) for store_id in catalogue.stores_on_platforms()]
    return await app.aspread("product_resync", calls, period="24h", batches=6, mode="each")


# The clock. A worker installs these when it starts; whatever number of workers there is, each fires once.

app.schedule("store_discovery", cron="0 3 * * *", job=store_discovery.bind(), timezone="UTC")
app.schedule("plan_resync", cron="5 0 * * *", job=plan_resync.bind(), timezone="UTC")
app.schedule("analytics_refresh", cron="30 5 * * *", job=analytics_refresh.bind(), timezone="UTC")


# Fetching


def pages(ctx: Context, store_id: str) -> Iterator[list[catalogue.Product]]:
    """The products of a store, page by page."""
    url, number = catalogue.url_of(store_id), 1
    while number is not None:
        page = json.loads(fetch(f"{url}/products.json?page={number}"))
        ctx.report(phase=f"page {number}")
        yield [(product["id"], product["title"], product["price"]) for product in page["products"]]
        number = page["next"]


def fetch(url: str) -> Any:
    """The text behind an address. An error carries its status: 503 is tried again, 404 is not."""
    try:
        with urlopen(url, timeout=10) as answer:
            return answer.read().decode()
    except HTTPError as error:
        error.close()
        raise
