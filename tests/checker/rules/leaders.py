"""One leader at a time: terms grow, each has one holder, and an old one can do nothing after the next has begun."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from tests.checker.history import NEVER, Operation
from tests.checker.rules.rule import SLACK_US, Broken, Case, rule


@dataclass(frozen=True, slots=True)
class Reign:
    """A process that acts with one term, and every time that it was told so."""

    term: int
    process: str
    leads: list[Operation]


def _reigns(case: Case) -> list[Reign]:
    """The oldest term first."""
    found: dict[tuple[int, str], Reign] = {}
    for lead in _acting(case):
        key = (lead.told.term, lead.process)
        found.setdefault(key, Reign(*key, [])).leads.append(lead)
    return [found[key] for key in sorted(found)]


def _acting(case: Case) -> list[Operation]:
    return [lead for lead in case.history.of("lead") if lead.ok and lead.told.acting]


@rule("A term has one holder, later holders have larger terms, and no lead is given while another's lease lasts.")
def one_acting_leader(case: Case) -> Iterator[Broken]:
    for older, newer in combinations(_reigns(case), 2):
        found = _both_lead(case, older, newer)
        if found is not None:
            message, one, other = found
            yield Broken(message, (*one.events, *other.events))


def _both_lead(case: Case, older: Reign, newer: Reign) -> tuple[str, Operation, Operation] | None:
    """Why these two cannot both be, and the answers that show it."""
    first, last = newer.leads[0], older.leads[-1]
    if older.term == newer.term:
        return f"{older.process} and {newer.process} both lead with term {older.term}", older.leads[0], first
    if first.before(last):
        return f"{older.process} leads with term {older.term} after {newer.process} led with {newer.term}", first, last
    before = [lead for lead in older.leads if lead.before(first)]
    if before and _lasted(case, before[-1]) > first.ended:
        message = f"{newer.process} took the lead with term {newer.term} while the lease of {older.process} lasted"
        return f"{message} (term {older.term})", before[-1], first
    return None


def _lasted(case: Case, lead: Operation) -> int:
    """How long nobody else could take this lead: up to its lease, or until its holder asked again or gave it up."""
    if lead.told.until is None or case.bounds.clocks_jump:
        return 0
    leads = (one for one in case.history.of("lead") if one.process == lead.process and one is not lead)
    own = (one.begun for one in leads if one.ended > lead.begun)
    return min(int(lead.told.until) - SLACK_US, *own, NEVER)


@rule("A duty with an old term is refused once another acts with a newer one.")
def duties_of_the_acting_term(case: Case) -> Iterator[Broken]:
    leads = deque(sorted(_acting(case), key=lambda lead: lead.ended))
    duties = [(one.begun, one.asked, one.events) for one in case.history.of("duty") if one.ok]
    duties += [(note.at, note, (note,)) for note in case.history.notes("duty")]
    newest: Operation | None = None
    for begun, duty, events in sorted(duties, key=lambda one: one[0]):
        while leads and leads[0].ended < begun:
            lead = leads.popleft()
            newest = lead if newest is None or lead.told.term > newest.told.term else newest
        if newest is not None and newest.told.term > duty.term:
            what = f"{duty.process} did {duty.name or 'a duty'} with term {duty.term}"
            yield Broken(f"{what} after {newest.process} had term {newest.told.term}", (*newest.events, *events))
