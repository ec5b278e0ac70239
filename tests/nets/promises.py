"""What the answer of an operation promises: whatever the other one did meanwhile, it is so afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.domain.job import FINAL, StateCode
from penstock.store import contract as p
from tests.nets.seen import CANCELLED, Seen
from tests.nets.stage import Stage

Promise = Callable[[Any, Stage, Seen], Iterator[str]]


def held(claims: list[p.Claim], stage: Stage, after: Seen) -> Iterator[str]:
    """The jobs of a claim are its worker's."""
    for claim in claims:
        if after.leases.get(claim.token, {}).get("id") != claim.id:
            yield f"gave {claim.id} with the token {claim.token}, which is not current"


def lost(tokens: list[int], stage: Stage, after: Seen) -> Iterator[str]:
    """A token that is called lost is not current."""
    for token in tokens:
        if token in after.leases:
            yield f"says that the token {token} is lost, and it is current"


def ended(state: int | None, *names: str) -> Promise:
    """Of these leases, all that are not lost have ended so, or cancelled. None: they are over, or wait again."""

    def check(tokens: list[int], stage: Stage, after: Seen) -> Iterator[str]:
        yield from lost(tokens, stage, after)
        for claim in (stage.leased[name] for name in names):
            if claim.token in tokens or claim.id not in after.jobs:
                continue
            if claim.token in after.leases:
                yield f"has ended {claim.token}, and it is current"
            elif state is not None and after.outcomes.get(claim.id) not in (state, CANCELLED):
                yield f"has ended {claim.id} as {state}, and it is {after.outcomes.get(claim.id, 'open')}"

    return check


def cancelled(find: Callable[[Stage], str]) -> Promise:
    """One that has ended stays so; one that was asked to stop is not tried again."""

    def check(told: p.Cancelled, stage: Stage, after: Seen) -> Iterator[str]:
        id_ = find(stage)
        if id_ not in after.jobs:
            return
        if told.after in FINAL:
            if after.outcomes.get(id_) != StateCode[told.after.name]:
                yield f"says that {id_} is {told.after}, and it is {after.outcomes.get(id_, 'open')}"
        elif not _asked(id_, after) and after.outcomes.get(id_) != CANCELLED:
            yield f"has asked {id_} to stop, and it is {after.outcomes.get(id_, 'waiting')}"

    return check


def _asked(id_: str, after: Seen) -> bool:
    return any(lease["id"] == id_ and lease["cancel"] for lease in after.leases.values())


def not_of_another(done: dict[str, bool], stage: Stage, after: Seen) -> Iterator[str]:
    """Of what an earlier attempt has begun, a later one cannot say that it was done."""
    if done["again"]:
        yield f"has ended an effect that another attempt has begun, of {stage.leased['again'].id}"


def stored(answer: list[p.Enqueued], stage: Stage, after: Seen) -> Iterator[str]:
    for new in answer:
        if new.id not in after.jobs:
            yield f"says that {new.id} is stored, and it is not there"


def stored_anew(*names: str) -> Promise:
    """No answer names one of these, which never run any more."""

    def check(answer: list[p.Enqueued], stage: Stage, after: Seen) -> Iterator[str]:
        yield from stored(answer, stage, after)
        for name in names:
            if stage.waiting[name] in {new.id for new in answer}:
                yield f"is told of {stage.waiting[name]}, which is {name}"

    return check
