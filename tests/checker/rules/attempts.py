"""Attempts are counted as promised: every run costs one, a crash too, a job that is given back costs none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.checker.evidence import ENDING_FOR_GOOD, Lease, Life
from tests.checker.history import NEVER
from tests.checker.rules.rule import Broken, Case, rule


@rule("No job is tried more often than its options allow.")
def attempts_within_the_maximum(case: Case) -> Iterator[Broken]:
    for life in case.evidence.lives.values():
        allowed = life.job.max_attempts if life.job else life.true[0].max_attempts if life.true else NEVER
        for lease in life.leases:
            if lease.attempt > allowed:
                message = f"job {life.id} was claimed for attempt {lease.attempt} of {allowed}"
                yield Broken(message, jobs=(life.id,), at=lease.claim.ended)
        for job in life.true:
            if job.attempt > allowed:
                message = f"job {life.id} ended with attempt {job.attempt} of {allowed}"
                yield Broken(message, jobs=(life.id,), at=NEVER)


@dataclass(slots=True)
class Charges:
    """How many attempts and crashes lie between two claims: surely, and at the most."""

    attempts: int = 0
    attempts_max: int = 0
    crashes: int = 0
    crashes_max: int = 0

    def add(self, sure: bool, attempt: bool, crash: bool) -> None:
        self.attempts += sure and attempt
        self.attempts_max += attempt
        self.crashes += sure and crash
        self.crashes_max += crash


@rule("A failed attempt and a crash are charged, a release, snooze or start timeout is not; crashes are counted apart.")
def attempts_are_charged(case: Case) -> Iterator[Broken]:
    for life in case.evidence.lives.values():
        if life.stored_again:
            continue
        for lease in life.leases:
            if lease.next is not None and case.evidence.may_have_ended(lease):
                message = _between(case, life, lease, lease.next)
                if message is not None:
                    yield Broken(f"job {life.id}: {message}", jobs=(life.id,), at=lease.next.claim.ended)
        message = _at_the_end(case, life)
        if message is not None:
            yield Broken(f"job {life.id}: {message}", jobs=(life.id,), at=NEVER)


def _between(case: Case, life: Life, lease: Lease, after: Lease) -> str | None:
    charges = _charges(case, life, lease, after)
    low = 0 if case.bounds.claims_undone else lease.attempt + charges.attempts
    high = lease.attempt + charges.attempts_max
    if not low <= after.attempt <= high:
        wanted = f"{low} to {high}" if low < high else str(high)
        return f"token {after.token} is attempt {after.attempt}; after attempt {lease.attempt} it must be {wanted}"
    low, high = lease.crashes + charges.crashes, lease.crashes + charges.crashes_max
    if not low <= after.crashes <= high:
        wanted = f"{low} to {high}" if low < high else str(high)
        return f"token {after.token} has seen {after.crashes} crashes; after {lease.crashes} it must be {wanted}"
    return None


def _charges(case: Case, life: Life, lease: Lease, after: Lease) -> Charges:
    charges = Charges()
    for write in lease.writes:
        if write.ends and write.operation.begun <= after.claim.ended:
            charges.add(write.operation.ok, write.event == "back_off", write.crash)
    for taking in life.taken:
        if taking.ended >= lease.claim.begun and taking.begun <= after.claim.ended:
            sure = lease.claim.before(taking) and taking.before(after.claim)
            charges.add(sure, taking.op == "recover", taking.op == "recover")
    for _ in range(case.evidence.hidden(life)):
        charges.add(False, attempt=True, crash=True)
    return charges


def _at_the_end(case: Case, life: Life) -> str | None:
    if len(life.true) != 1 or not life.true[0].final:
        return None
    [job] = life.true
    last = life.leases[-1] if life.leases and _ended_by(life.leases[-1]) else None
    if last is not None and job.attempt != last.attempt:
        return f"it ended with attempt {last.attempt}, and the store shows {job.attempt}"
    crashes = [write.operation for lease in life.leases for write in lease.writes if write.crash]
    crashes += [taking for taking in life.taken if taking.op == "recover"]
    low = sum(operation.ok for operation in crashes)
    high = len(crashes) + case.evidence.hidden(life)
    if not low <= job.crashes <= high:
        return f"it has crashed {low} times, and the store shows {job.crashes}"
    return None


def _ended_by(lease: Lease) -> bool:
    """Whether this lease surely ended the job."""
    return any(write.operation.ok and write.event in ENDING_FOR_GOOD for write in lease.writes)
