"""What the clients of all seeds share: keys, limits, tenants, and the form of what they ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock import Concurrency, RateLimit

UNIQUE_KEYS = 4
SHOPS = {"shop-0": 1, "shop-1": 1, "shop-2": 2}
ORDERED = frozenset({"shop-0"})
API = RateLimit("api", 5, per="1s")
SHARED = "shared"
"""The queue of the tenants."""
TENANTS = ("acme", "beta", "zeta")
SPECIAL = "special"
"""What each worker can do beside the usual."""
NOWHERE = "nowhere"
"""What no worker can do."""


@dataclass(frozen=True, slots=True)
class Item:
    """One job: which type, with which arguments and options."""

    kind: str
    args: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


def limited(shop: str) -> Concurrency:
    return Concurrency(shop, SHOPS[shop], ordered=shop in ORDERED)
