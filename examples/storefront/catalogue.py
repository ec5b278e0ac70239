"""What is known about the shops: a database of its own, beside that of the jobs. Every write may be repeated.

Show its figures: python catalogue.py
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

PATH = "catalogue.db"

TABLES = """
CREATE TABLE IF NOT EXISTS store (id TEXT PRIMARY KEY, url TEXT NOT NULL, platform TEXT, looked INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS product (
    store TEXT NOT NULL, id INTEGER NOT NULL, title TEXT NOT NULL, price INTEGER NOT NULL, PRIMARY KEY (store, id)
);
CREATE TABLE IF NOT EXISTS analytics (
    store TEXT PRIMARY KEY, products INTEGER NOT NULL, cheapest INTEGER NOT NULL, average REAL NOT NULL
);
"""

Product = tuple[int, str, int]
"""Its id, title and price."""


@contextmanager
def catalogue() -> Iterator[sqlite3.Connection]:
    """A connection and a transaction for the length of the block. The tables are made when they are not there."""
    db = sqlite3.connect(PATH, timeout=30)
    try:
        db.executescript(TABLES)
        with db:
            yield db
    finally:
        db.close()


def save_stores(found: dict[str, str]) -> list[str]:
    """Remember these stores, by id and address, and answer those at which nobody has looked yet."""
    with catalogue() as db:
        db.executemany(
            "INSERT INTO store (id, url) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET url = excluded.url", found.items()
        )
        return [row[0] for row in db.execute("SELECT id FROM store WHERE NOT looked ORDER BY id")]


def save_platform(store_id: str, platform: str | None) -> None:
    with catalogue() as db:
        db.execute("UPDATE store SET platform = ?, looked = 1 WHERE id = ?", (platform, store_id))


def url_of(store_id: str) -> str:
    with catalogue() as db:
        return str(db.execute("SELECT url FROM store WHERE id = ?", (store_id,)).fetchone()[0])


def stores_on_platforms() -> list[str]:
    with catalogue() as db:
        return [row[0] for row in db.execute("SELECT id FROM store WHERE platform IS NOT NULL ORDER BY id")]


def save_products(store_id: str, products: Iterable[Product]) -> int:
    """Store them, and answer how many are new or have another price or title."""
    with catalogue() as db:
        before = db.total_changes
        db.executemany(
            "INSERT INTO product (store, id, title, price) VALUES (?, ?, ?, ?) ON CONFLICT (store, id) "
            "DO UPDATE SET title = excluded.title, price = excluded.price "
            "WHERE (title, price) != (excluded.title, excluded.price)",
            ((store_id, *product) for product in products),
        )
        return db.total_changes - before


def refresh_analytics() -> int:
    """Make the table anew, in one transaction: readers see the old one or the new one."""
    with catalogue() as db:
        db.execute("DELETE FROM analytics")
        made = db.execute(
            "INSERT INTO analytics SELECT store, count(*), min(price), avg(price) FROM product GROUP BY store"
        )
        return made.rowcount


def read_analytics() -> list[tuple[str, int, int, float]]:
    with catalogue() as db:
        return db.execute("SELECT store, products, cheapest, average FROM analytics ORDER BY store").fetchall()


def show_analytics() -> None:
    for store, products, cheapest, average in read_analytics():
        print(f"{store}: {products} products from {cheapest}, on average {average:.1f}")


if __name__ == "__main__":
    show_analytics()
