"""A day of a crawler that watches the shops of a mall: five roles, chained, with one active job per store."""

from __future__ import annotations

import asyncio

import catalogue
from mall import Mall, open_mall
from roles import analytics_refresh, app, entry_point_discovery, plan_resync, store_discovery

from penstock import State
from penstock.store.contract import ListJobs


def work() -> None:
    """Run what is due. In real life: penstock worker roles:app, as many as you like."""
    asyncio.run(app.run_worker(burst=True))


def discover(mall: Mall) -> None:
    """The directory leads to front pages, and those with a platform to their products."""
    store_discovery.enqueue(f"{mall.url}/stores.json")
    work()
    for job in sorted(app.store.list_jobs(ListJobs(type="product_discovery")).wait(), key=lambda job: str(job.payload)):
        print(f"{job.payload['store_id']}: {job.result} products")
    (tried,) = (job for job in app.store.list_jobs(ListJobs(type="entry_point_discovery")).wait() if job.attempt > 1)
    print(f"{tried.payload['store_id']} was out of order, and found at attempt {tried.attempt}")


def resync(mall: Mall) -> None:
    """The first batch is due now, the others every four hours. Meanwhile somebody asks for two of the shops again."""
    mall.raise_prices("lamps", by=2)
    app.enqueue_many(entry_point_discovery.bind(store_id) for store_id in ("lamps", "clocks") * 2)
    plans = [plan_resync.enqueue(), plan_resync.enqueue()]
    work()
    print(f"planned: {sorted(plan.result(timeout=10) for plan in plans)}")
    jobs = app.store.list_jobs(ListJobs(type="product_resync", limit=100)).wait()
    done = sorted(job.payload["store_id"] for job in jobs if job.state is State.COMPLETED)
    print(f"now: {', '.join(done)}; later: {sum(job.state is State.SCHEDULED for job in jobs)} resyncs")


def refresh() -> None:
    analytics_refresh.enqueue()
    work()
    catalogue.show_analytics()


def live() -> None:
    """From an empty catalogue to figures, against a mall that is open meanwhile."""
    with open_mall() as mall:
        discover(mall)
        resync(mall)
        refresh()
        print(f"by the clock: {', '.join(schedule.name for schedule in app.schedules.list())}")
        print(f"jobs at once in one store: {max(mall.most_at_once.values())}")
    app.close()
