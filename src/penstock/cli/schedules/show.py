"""`penstock schedules show`: all that is stored of one schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import app_on
from penstock.cli.output.say import say
from penstock.cli.output.tables import clean, field, print_json
from penstock.cli.running.guard import guarded
from penstock.cli.schedules.list import document
from penstock.cli.schedules.when import Name
from penstock.domain.clock import from_us
from penstock.domain.duration import format_duration

if TYPE_CHECKING:
    from penstock.client.schedules.schedule import Schedule


@guarded
def show_schedule(name: Name, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Show one schedule: what it enqueues, when, what became of it so far, and its next times.

    \b
    penstock schedules show nightly
    penstock schedules show nightly --json
    """
    from penstock.observe.stuck import takers_among

    with app_on(store) as app:
        found = app.schedules.get(name)
        now = from_us(app.store.read_clock().wait())
        facts = document(found, takers_among(app.store.list_workers().wait()), now)
        facts["upcoming"] = app.schedules.upcoming(name) if found.problem is None else []
    if as_json:
        print_json(facts)
    else:
        _print(found, facts)


def _print(found: Schedule, facts: dict[str, Any]) -> None:
    width = max(map(len, facts)) + 2
    for name, value in facts.items():
        for number, one in enumerate(value or [None] if name == "upcoming" else [value]):
            say(f"{'' if number else name:<{width}}{clean(_field(name, one))}".rstrip())
    say(f"\nits jobs: penstock jobs list --tag schedule:{found.name}")


def _field(name: str, value: Any) -> str:
    import msgspec

    if name in ("every", "grace") and value is not None:
        return format_duration(value)
    return msgspec.json.encode(value).decode() if name == "payload" else field(value)
