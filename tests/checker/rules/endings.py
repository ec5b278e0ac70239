"""The end is the end: nobody is given a job that has ended, and it stays as it ended."""

from __future__ import annotations

from collections.abc import Iterator

from tests.checker.history import NEVER, Operation
from tests.checker.rules.rule import Broken, Case, rule


@rule("After a job has ended, or somebody has cancelled it, nobody claims it again. A retry makes a new id.")
def no_claim_after_the_end(case: Case) -> Iterator[Broken]:
    for life in case.evidence.lives.values():
        if life.stored_again:
            continue
        ends = [end for end, _ in case.evidence.acknowledged_ends(life)]
        ends += [cancel for cancel in life.cancels if cancel.op == "cancel" and cancel.ok]
        for lease in life.leases:
            end = next((end for end in ends if end.before(lease.claim)), None)
            if end is not None:
                message = f"job {life.id} was claimed with token {lease.token} after {_word(end)} had been acknowledged"
                yield Broken(message, jobs=(life.id,), at=lease.claim.ended)


def _word(end: Operation) -> str:
    return "its cancel" if end.op == "cancel" else "its end"


@rule("A job stays in the final state that was acknowledged.")
def the_end_stays(case: Case) -> Iterator[Broken]:
    for life in case.evidence.lives.values():
        for end, state in case.evidence.acknowledged_ends(life):
            for job in life.true if not life.stored_again else ():
                if job.final and state is not None and job.state != state:
                    message = f"job {life.id} was acknowledged as {state} ({end.op}), and the store shows {job.state}"
                    yield Broken(message, jobs=(life.id,), at=NEVER)
