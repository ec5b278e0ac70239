"""What the clients of a seed will ask for, and when: drawn before anything happens."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from random import Random
from typing import Any

from penstock import Resources, Tenant, Unique
from tests.simulation.features import SHARE, Theme, draw_features, make_item
from tests.simulation.names import API, SHARED, SHOPS, TENANTS, UNIQUE_KEYS, Item, limited

BULK_MAX = 6
FLOOD_MAX = 40


@dataclass(frozen=True, slots=True)
class Order:
    """One enqueue, of one job or of several at once. With `ids` it can be sent again by another process."""

    at: float
    items: tuple[Item, ...]
    ids: tuple[str, ...] | None
    cancelled_after: float | None


def draw_orders(random: Random, theme: Theme, jobs: int, seconds: float) -> list[Order]:
    """Orders of so many jobs over so many seconds, in time order."""
    orders: list[Order] = []
    left = jobs
    while left > 0:
        if random.random() < SHARE:
            orders.append(_draw_themed(random, theme, left, random.uniform(0.0, seconds)))
            left -= len(orders[-1].items)
            continue
        count = min(left, random.randint(2, BULK_MAX) if random.random() < 0.1 else 1)
        left -= count
        ids = tuple(str(uuid.UUID(int=random.getrandbits(128), version=4)) for _ in range(count))
        orders.append(
            Order(
                at=random.uniform(0.0, seconds),
                items=tuple(_draw_item(random) for _ in range(count)),
                ids=ids if random.random() < 0.5 else None,
                cancelled_after=random.expovariate(4.0) if random.random() < 0.08 else None,
            )
        )
    if random.random() < 0.5:
        orders.append(_draw_flood(random, seconds))
    return sorted(orders, key=lambda order: order.at)


def _draw_themed(random: Random, theme: Theme, left: int, at: float) -> Order:
    """One job with features of the seed, or several."""
    features = draw_features(random, theme)
    count = min(left, random.randint(2, BULK_MAX)) if "bulk" in features else 1
    ids = tuple(str(uuid.UUID(int=random.getrandbits(128), version=4)) for _ in range(count))
    items = [make_item(random, features) for _ in range(count)]
    if "follow-up" in features:
        items = [Item("chain", {"seconds": 0.01, "links": 0, "last": sorted(features)}) for _ in items]
    cancelled_after = random.expovariate(4.0) if "cancel" in features else None
    return Order(at, tuple(items), ids if random.random() < 0.5 else None, cancelled_after)


def _draw_flood(random: Random, seconds: float) -> Order:
    """Many jobs of one tenant at once, and then no fewer turns for the others."""
    tenant = random.choice(TENANTS)
    items = tuple(_of(tenant, random) for _ in range(random.randint(10, FLOOD_MAX)))
    return Order(random.uniform(0.0, seconds), items, None, None)


def _draw_item(random: Random) -> Item:
    [draw] = random.choices([draw for draw, _ in KINDS], [weight for _, weight in KINDS])
    item: Item = draw(random)
    if random.random() < 0.1:
        item.options["delay"] = random.uniform(0.05, 2.0)
    if random.random() < 0.2:
        item.options["priority"] = random.choice([-10, 5, 10])
    return item


def _work(random: Random) -> Item:
    fails = 0 if random.random() < 0.9 else random.choice([1, 1, 2, 99])
    return Item("work", {"seconds": random.uniform(0.005, 0.05), "fails": fails})


def _slow(random: Random) -> Item:
    return Item("work", {"seconds": random.uniform(0.3, 2.0)})


def _long(random: Random) -> Item:
    """Longer than a worker may be silent, several times over."""
    return Item("work", {"seconds": random.uniform(4.0, 6.0)})


def _poison(random: Random) -> Item:
    return Item("poison")


def _deadly(random: Random) -> Item:
    return Item("deadly", {"seconds": random.uniform(0.0, 0.1), "deaths": random.choice([1, 2, 99])})


def _stubborn(random: Random) -> Item:
    return Item("stubborn", {"seconds": random.choice([0.1, 1.0, 8.0])})


def _chain(random: Random) -> Item:
    return Item("chain", {"seconds": random.uniform(0.005, 0.05), "links": random.choice([0, 0, 1, 2])})


def _pay(random: Random) -> Item:
    return Item("pay", {"seconds": random.uniform(0.005, 0.1)})


def _charge(random: Random) -> Item:
    return Item("charge", {"seconds": random.uniform(0.005, 0.1), "fails": random.choice([0, 1, 2])})


def _careful(random: Random) -> Item:
    data = {"seconds": random.uniform(0.005, 0.3), "fails": random.choice([0, 0, 1, 99])}
    return Item("careful", {"data": data})


def _pack(random: Random) -> Item:
    return Item("pack", {"item": random.randrange(100)})


def _heavy(random: Random) -> Item:
    cores = random.choice([1, 1, 2, 3])
    args = {"seconds": random.uniform(0.05, 0.5), "cores": cores}
    return Item("heavy", args, {"resources": Resources(cpu=cores)})


def _lonely(random: Random) -> Item:
    return Item("lonely", {"seconds": random.uniform(0.005, 0.2)})


def _unique(random: Random) -> Item:
    key = Unique(f"key-{random.randrange(UNIQUE_KEYS)}")
    return Item("work", {"seconds": random.uniform(0.005, 0.5)}, {"unique": key})


def _in_shop(random: Random) -> Item:
    shop = random.choice(sorted(SHOPS))
    fails = random.choice([0, 0, 0, 1])
    return Item("work", {"seconds": random.uniform(0.005, 0.3), "fails": fails}, {"limit": limited(shop)})


def _request(random: Random) -> Item:
    options: dict[str, Any] = {"rate_limit": API}
    if random.random() < 0.3:
        options["limit"] = limited("shop-0")
    return Item("work", {"seconds": random.uniform(0.005, 0.1)}, options)


def _for_tenant(random: Random) -> Item:
    return _of(random.choice(TENANTS), random)


def _of(tenant: str, random: Random) -> Item:
    fails = random.choice([0, 0, 0, 0, 0, 1])
    args = {"seconds": random.uniform(0.05, 0.4), "fails": fails}
    return Item("work", args, {"tenant": Tenant(tenant), "queue": SHARED})


def _hasty(random: Random) -> Item:
    return Item("work", {"seconds": random.uniform(0.005, 0.05)}, {"ttl": random.uniform(0.05, 0.5)})


KINDS = (
    (_work, 60), (_slow, 8), (_long, 1), (_poison, 2), (_deadly, 1.5), (_stubborn, 1.5), (_chain, 10), (_pay, 8),
    (_charge, 4), (_careful, 8), (_pack, 6), (_unique, 8), (_in_shop, 10), (_request, 8), (_hasty, 3), (_heavy, 6),
    (_lonely, 4), (_for_tenant, 12),
)  # fmt: skip
"""What a job may be, and how often it is that."""
