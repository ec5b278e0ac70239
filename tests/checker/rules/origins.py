"""Nothing comes from nowhere: whatever is stored, claimed or run was enqueued by somebody, once."""

from __future__ import annotations

from collections.abc import Iterator

from tests.checker.evidence import Lease, Life
from tests.checker.history import NEVER
from tests.checker.rules.rule import Broken, Case, rule


@rule("Every job was enqueued, or retried by a person, and not refused; every run has a claim. One id makes one job.")
def nothing_from_nowhere(case: Case) -> Iterator[Broken]:
    for life in case.evidence.lives.values():
        if life.true and not life.possible:
            yield Broken(f"job {life.id} is in the store, and no enqueue has put it there", jobs=(life.id,), at=NEVER)
        created = [origin.operation for origin in life.origins if origin.created]
        if len(created) > 1 and not life.removable:
            events = [event for operation in created for event in operation.events]
            yield Broken(f"job {life.id} was created {len(created)} times", events)
        for lease in life.leases:
            if not _enqueued_before(life, lease):
                message = f"job {life.id} was claimed before anybody enqueued it"
                yield Broken(message, jobs=(life.id,), at=lease.claim.ended)
    yield from _work_without_claims(case)


def _enqueued_before(life: Life, lease: Lease) -> bool:
    return any(origin.stored is not False and origin.operation.begun <= lease.claim.ended for origin in life.origins)


def _work_without_claims(case: Case) -> Iterator[Broken]:
    leases = case.evidence.leases
    for note in [*case.history.notes("run"), *case.history.notes("effect")]:
        lease = leases.get(note.token)
        if lease is None or lease.id != note.id or lease.claim.begun > note.at:
            message = f"{note.process} noted a {note.op} of job {note.id} with token {note.token}, which nobody claimed"
            yield Broken(message, jobs=(note.id,), at=note.at)
    for effect in case.truth.effects:
        lease = leases.get(effect.token)
        if lease is None or lease.id != effect.job:
            message = f"job {effect.job} left an effect with token {effect.token}, which nobody claimed"
            yield Broken(message, jobs=(effect.job,), at=NEVER)
    for write in case.evidence.unclaimed:
        if write.operation.ok:
            message = f"the token {write.token} was accepted ({write.event}), and nobody was given it"
            yield Broken(message, write.operation.events)
