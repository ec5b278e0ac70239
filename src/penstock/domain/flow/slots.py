"""How many jobs a worker may run at once."""

from __future__ import annotations

from penstock.domain.errors import ConfigError

SLOTS_MAX = 10_000


def check_slots(slots: object, name: str = "slots") -> int:
    if not isinstance(slots, int) or isinstance(slots, bool) or not 1 <= slots <= SLOTS_MAX:
        raise ConfigError(f"{name}={slots!r} is not possible: a whole number from 1 to {SLOTS_MAX}")
    return slots
