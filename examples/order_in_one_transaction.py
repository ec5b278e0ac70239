"""An order and the job that ships it: stored together, or neither.

Run it: python examples/order_in_one_transaction.py (makes shop.db in the current folder)
"""

from __future__ import annotations

import asyncio

from penstock import App, JobHandle

app = App("sqlite:///shop.db")


@app.job(queue="shipping")
def ship(order: int, item: str) -> str:
    return f"order {order} is on its way: {item}"


def make_tables() -> None:
    with app.transaction() as tx:
        tx.execute(
            "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, price INTEGER NOT NULL)"
        )


def place_order(item: str, price: int) -> JobHandle[str]:
    with app.transaction() as tx:
        rows = tx.execute("INSERT INTO orders (item, price) VALUES (?, ?) RETURNING id", (item, price))
        job = ship.using(conn=tx).enqueue(int(str(rows[0][0])), item)
        if price <= 0:
            raise ValueError(f"a price of {price} is not possible")
    return job


def count_orders() -> object:
    with app.transaction() as tx:
        return tx.execute("SELECT count(*) FROM orders")[0][0]


def main() -> None:
    make_tables()
    job = place_order("lamp", 30)
    try:
        place_order("chair", -1)
    except ValueError as error:
        print(f"refused: {error}; neither the order nor its job was stored")
    print(f"orders stored: {count_orders()}")
    asyncio.run(app.run_worker(burst=True))
    print(job.result(timeout=10))
    app.close()


if __name__ == "__main__":
    main()
