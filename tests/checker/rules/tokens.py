"""One holder: tokens grow with every claim, and only the newest one may change its job."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from tests.checker.evidence import Lease, Life, Write
from tests.checker.history import Operation
from tests.checker.rules.rule import Broken, Case, rule


@rule("Every claim has larger tokens than all that were answered before it began.")
def tokens_grow(case: Case) -> Iterator[Broken]:
    for one, other in case.evidence.same_token:
        message = f"token {one.token} was given twice, for job {one.id} and for job {other.id}"
        yield Broken(message, (*one.claim.events, *other.claim.events))
    claims = [claim for claim in case.history.of("claim") if claim.ok and claim.told.jobs]
    answered = iter(sorted(claims, key=attrgetter("ended")))
    last: Operation | None = None
    waiting = next(answered, None)
    for claim in claims:
        while waiting is not None and waiting.before(claim):
            last = waiting if last is None or _newest(waiting) > _newest(last) else last
            waiting = next(answered, None)
        if last is not None and _oldest(claim) <= _newest(last):
            message = f"token {_oldest(claim)} was given after token {_newest(last)}"
            yield Broken(message, (*last.events, *claim.events))


def _newest(claim: Operation) -> int:
    return max(int(job.token) for job in claim.told.jobs)


def _oldest(claim: Operation) -> int:
    return min(int(job.token) for job in claim.told.jobs)


@rule("Start, progress, finish and once are taken only from the token that is the newest of its job.")
def only_the_current_token_writes(case: Case) -> Iterator[Broken]:
    for life in case.evidence.lives.values():
        fences = list(_fences(life))
        for lease in life.leases:
            for write in lease.writes:
                fence = next((one for one in fences if _fenced(one, write)), None)
                if fence is not None:
                    message = f"job {life.id}: {write.event} with token {write.token} was accepted after {fence[2]}"
                    yield Broken(message, jobs=(life.id,), at=write.operation.ended)


Fence = tuple[Operation, int, str]
"""Once this operation was answered, no token up to this one is current."""


def _fences(life: Life) -> Iterator[Fence]:
    for lease in life.leases:
        yield lease.claim, lease.token - 1, f"token {lease.token} was given"
        for write in lease.writes:
            if write.ends and write.operation.ok:
                yield write.operation, lease.token, f"token {lease.token} had ended ({write.event})"
    for taking in life.taken:
        held = [lease.token for lease in life.leases if lease.claim.before(taking)]
        if held:
            yield taking, max(held), f"it was taken from its worker ({taking.op})"


def _fenced(fence: Fence, write: Write) -> bool:
    operation, upto, _ = fence
    return write.operation.ok and write.token <= upto and operation.before(write.operation)


@rule("Two workers never hold one job: something ended the first lease before the next was given.")
def one_holder(case: Case) -> Iterator[Broken]:
    if case.bounds.claims_undone:
        return
    for life in case.evidence.lives.values():
        for lease in life.leases:
            if lease.next is not None and not case.evidence.may_have_ended(lease):
                yield Broken(_two_holders(lease, lease.next), jobs=(life.id,), at=lease.next.claim.ended)


def _two_holders(lease: Lease, after: Lease) -> str:
    return (
        f"job {lease.id} was given to {after.claim.process} with token {after.token} while {lease.claim.process} held "
        f"it with token {lease.token}"
    )
