"""docs/transactions.md on PostgreSQL: the same page with another address, and its functions with real sessions."""

from __future__ import annotations

from pathlib import Path

from tests.docs.pages import ROOT, run_python, script
from tests.postgres.server import shared

PAGE = ROOT / "docs" / "transactions.md"
SQLITE = "sqlite:///shop.db"

PLAY = """
import sqlalchemy
from sqlalchemy.ext.asyncio import create_async_engine

address = {address!r}.partition("?")[0]
engine = sqlalchemy.create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
with Session(engine) as session:
    place_order_with(session, "plain")
engine.dispose()


@app.job
async def ship_it(ctx: Context, item: str) -> None:
    engine = create_async_engine(address.replace("postgresql:", "postgresql+asyncpg:"))
    async with AsyncSession(engine) as session:
        await place_order_async(session, item)
        await ship_on(ctx, session, item)
    await engine.dispose()


done = ship_it.enqueue("async")
asyncio.run(app.run_worker(burst=True))
with app.transaction() as tx:
    print(*(item for (item,) in tx.execute("SELECT item FROM orders ORDER BY item")))
print(done.read().result)
print(sum(count.jobs for count in app.store.count_jobs().wait() if count.type == "send_receipt"))
app.close()
"""


def test_the_page_is_true_on_postgresql_too(tmp_path: Path) -> None:
    server = shared(18)
    server.execute("CREATE DATABASE shop_page")
    try:
        address = server.url("shop_page")
        assert SQLITE in script(PAGE)
        program = tmp_path / "page.py"
        program.write_text(script(PAGE).replace(SQLITE, address) + PLAY.format(address=address), encoding="utf-8")
        done = run_python(str(program), cwd=tmp_path)
        assert done.stdout.splitlines() == ["async lamp plain", "shipped: async", "3"], done.stdout + done.stderr
    finally:
        server.execute("DROP DATABASE shop_page WITH (FORCE)")
