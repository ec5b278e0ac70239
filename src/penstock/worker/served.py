"""What a worker needs of the app whose jobs it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.client.client import Client
from penstock.domain.registry import Registry
from penstock.observe.events import Events
from penstock.store.contract import Store
from penstock.worker.settings import Lifespan


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedApp:
    store: Store
    """One that is observed."""
    events: Events
    """Whom to hand on to what becomes of the attempts here."""
    registry: Registry
    client: Client
    lifespan: Lifespan
    place: Callable[[], tuple[str, str]]
    """The module and the name under which child processes import it."""
