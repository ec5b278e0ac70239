"""What a history and the truth say about each job: where it came from, who held it, and what may have ended that.

What is certain and what is only possible are kept apart. A rule may only complain about what is certain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.domain.job import FINAL
from tests.checker.events import FollowUp, JobAsked
from tests.checker.history import NEVER, History, Operation
from tests.checker.truth import TrueJob, Truth
from tests.checker.workflows import Made, flows_of

ENDING = frozenset({"complete", "back_off", "fail", "release", "snooze", "cancel"})
ENDING_FOR_GOOD = {"complete": "completed", "fail": "dead", "cancel": "cancelled"}


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """An operation that was to store the job. `stored` is None when nobody knows whether it is stored since."""

    operation: Operation
    job: JobAsked | None
    stored: bool | None
    created: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """What the holder of a token did with it: start, progress, once, or one of ENDING. Never one that was refused."""

    operation: Operation
    token: int
    event: str
    crash: bool = False

    @property
    def ends(self) -> bool:
        return self.event in ENDING


@dataclass(slots=True, eq=False)
class Lease:
    """A claim of one job, as its worker was told of it."""

    id: str
    token: int
    attempt: int
    crashes: int
    claim: Operation
    passed_at: int | None = None
    priority: int = 0
    writes: list[Write] = field(default_factory=list)
    next: Lease | None = None


@dataclass(slots=True, eq=False)
class Life:
    """All that is known of one job. `taken` took it from a worker; `failed` ended it while it waited."""

    id: str
    origins: list[Origin] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    taken: list[Operation] = field(default_factory=list)
    failed: list[Operation] = field(default_factory=list)
    cancels: list[Operation] = field(default_factory=list)
    """Of the job, or of the workflow that it belongs to."""
    true: list[TrueJob] = field(default_factory=list)

    @property
    def job(self) -> JobAsked | None:
        return next((origin.job for origin in self.origins if origin.job is not None), None)

    @property
    def type(self) -> str | None:
        return self.true[0].type if self.true else self.job.type if self.job else None

    @property
    def certain(self) -> bool:
        """Whether somebody was told that it is stored."""
        return any(origin.stored for origin in self.origins)

    @property
    def possible(self) -> bool:
        """Whether it may be stored."""
        return any(origin.stored is not False for origin in self.origins)

    @property
    def stored_by(self) -> Operation | None:
        """The first operation after which it was surely stored."""
        sure = [origin.operation for origin in self.origins if origin.stored]
        return min(sure, key=lambda operation: operation.ended, default=None)

    @property
    def removable(self) -> bool:
        """Whether its options may remove it once it has ended. Those of a retried job are not known here."""
        return any(origin.job is None or origin.job.removable for origin in self.origins)

    @property
    def stored_again(self) -> bool:
        """A job that its options removed is new to the store when its enqueue is sent once more: two lives, one id."""
        return self.removable and sum(origin.stored is not False for origin in self.origins) > 1

    @property
    def raised(self) -> bool:
        """Whether ageing has given it a higher priority than it was enqueued with, as far as anybody has seen."""
        asked = self.job.priority if self.job is not None else 0
        seen = [*(lease.priority for lease in self.leases), *(job.priority for job in self.true)]
        return any(one > asked for one in seen)

    def ends_for_good(self, write: Write) -> bool:
        """A job that a person asked to cancel ends with its attempt, however that ends."""
        return write.event in ENDING_FOR_GOOD or (write.ends and bool(self.cancels))


class Evidence:
    def __init__(self, history: History, truth: Truth) -> None:
        self._history = history
        self.lives: dict[str, Life] = {}
        self.leases: dict[int, Lease] = {}
        self.same_token: list[tuple[Lease, Lease]] = []
        self.unclaimed: list[Write] = []
        """Accepted writes with tokens that nobody was given."""
        self.vague = [one for one in history.of("recover", "give_back") if not one.ok] + history.of("register")
        """What may have taken jobs from workers without naming them: a worker that registers again loses its own."""
        self.vague_claims = [claim for claim in history.of("claim") if not claim.ok]
        """What may have given jobs to workers that never heard of it."""
        self.workflows = flows_of(history, truth)
        self._add_origins()
        self._add_leases()
        self._add_writes()
        self._add_acts()
        for job in truth.jobs:
            self.life(job.id).true.append(job)
        self._add_workflows()

    def life(self, id: str) -> Life:
        if id not in self.lives:
            self.lives[id] = Life(id)
        return self.lives[id]

    # Reading the history

    def _add_origins(self) -> None:
        for operation in self._history.of("enqueue"):
            for position, job in enumerate(operation.asked.jobs):
                self.life(job.id).origins.append(_enqueued(operation, job, position))
        for operation in self._history.of("schedule"):
            for change in operation.asked.changes:
                taken = change.schedule in operation.told.stored if operation.ok else None
                for job in change.jobs:  # A tick whose unique key somebody holds is taken, and makes no job.
                    stored = None if taken and job.unique is not None else taken
                    self.life(job.id).origins.append(Origin(operation, job, stored, bool(stored)))
        for operation in self._history.of("retry_dead"):
            news = [new for _, new in operation.told.pairs] if operation.ok else operation.asked.new_ids
            for new in news:
                self.life(new).origins.append(Origin(operation, None, operation.ok or None, operation.ok))

    def _add_leases(self) -> None:
        for claim in self._history.of("claim"):
            for job in claim.told.jobs if claim.ok else ():
                lease = Lease(job.id, job.token, job.attempt, job.crashes, claim, job.passed_at, job.priority)
                if job.token in self.leases:
                    self.same_token.append((self.leases[job.token], lease))
                else:
                    self.leases[job.token] = lease
                    self.life(job.id).leases.append(lease)
        for life in self.lives.values():
            life.leases.sort(key=lambda lease: lease.token)
            for lease, after in zip(life.leases, life.leases[1:], strict=False):
                lease.next = after

    def _add_writes(self) -> None:
        for write in _writes(self._history):
            lease = self.leases.get(write.token)
            if lease is None:
                self.unclaimed.append(write)
            else:
                lease.writes.append(write)

    def _add_acts(self) -> None:
        history = self._history
        for operation in history.of("cancel"):
            self.life(operation.asked.id).cancels.append(operation)
        for flow in self.workflows.values():
            for id in flow.ids if flow.cancels else ():
                self.life(id).cancels.extend(flow.cancels)
        for operation in history.of("recover", "give_back"):
            for id in _taken(operation):
                self.life(id).taken.append(operation)
        for operation in history.of("fail_unroutable"):
            for id in operation.told.jobs if operation.ok else ():
                self.life(id).failed.append(operation)
        for operation in history.of("finish"):
            for one in operation.asked.follow_ups:
                self.life(one.job.id).origins.append(Origin(operation, one.job, self._followed(operation, one)))

    def _followed(self, finish: Operation, one: FollowUp) -> bool | None:
        """Whether it was stored: with its parent's end, unless somebody holds its unique key."""
        stored = self._goes_with(finish, one.token)
        return None if stored and one.job.unique is not None else stored

    def _goes_with(self, finish: Operation, token: int) -> bool | None:
        """Whether what goes with this attempt's end was stored: not if somebody cancelled the job."""
        if finish.ok and token in finish.told.lost:
            return False
        lease = self.leases.get(token)
        return True if finish.ok and lease is not None and not self.lives[lease.id].cancels else None

    def _add_workflows(self) -> None:
        for flow in self.workflows.values():
            for made in flow.made:
                self._add_plan(made)
            for retry in flow.retries:
                for id in retry.asked.new_ids:
                    self.life(id).origins.append(Origin(retry, None, None))

    def _add_plan(self, made: Made) -> None:
        """Only the jobs of the first steps are stored with it; the others may be, later."""
        stored = self.made(made)
        for step in made.plan.steps:
            for job in step.jobs:
                sure = stored if stored is False or not step.after else None
                self.life(job.id).origins.append(Origin(made.operation, job, sure))
        if made.plan.compensate is not None:
            maybe = False if stored is False else None
            self.life(made.plan.compensate.id).origins.append(Origin(made.operation, made.plan.compensate, maybe))

    def made(self, made: Made) -> bool | None:
        """Whether the workflow is stored since; None if nobody knows."""
        if made.token is not None:
            return self._goes_with(made.operation, made.token)
        return made.operation.ok or None

    # Judging

    def hidden(self, life: Life) -> int:
        """How often, at the most, the job was taken from a worker without being named in the history."""
        if len(life.true) != 1 or life.stored_again:
            return len(self.vague)
        cancelled = life.true[0].state == "cancelled"  # Then the store does not say what its last attempt ended by.
        return max(0, life.true[0].taken + cancelled - len(life.taken))

    def ends_of(self, lease: Lease) -> list[Operation]:
        """All operations that may have ended this lease."""
        life = self.lives[lease.id]
        found = [write.operation for write in lease.writes if write.ends]
        others = [*life.taken, *(self.vague if self.hidden(life) else ())]
        found += [other for other in others if other.ended >= lease.claim.begun]
        return [end for end in found if lease.next is None or end.begun <= lease.next.claim.ended]

    def may_have_ended(self, lease: Lease) -> bool:
        """Whether there is any reason why its worker does not hold it any more."""
        return bool(self.ends_of(lease)) or self.hidden(self.lives[lease.id]) > 0

    def held_until(self, lease: Lease) -> int:
        """Up to this moment the lease was surely held."""
        begun = [max(end.begun, lease.claim.begun) for end in self.ends_of(lease)]
        return min(begun, default=lease.next.claim.begun if lease.next else NEVER)

    def alive_until(self, life: Life) -> int:
        """Up to this moment the job had surely not ended. Zero if that cannot be said."""
        ends = [*life.taken, *life.failed, *life.cancels, *(self.vague if self.hidden(life) else ())]
        ends += [w.operation for lease in life.leases for w in lease.writes if life.ends_for_good(w)]
        expired = any(job.state == "expired" for job in life.true) if life.true else life.job and life.job.ttl
        unrouted = any(job.decided_by == "routing" for job in life.true) and not life.failed  # As it was enqueued.
        ended = not life.true or any(job.final for job in life.true)
        if expired or unrouted or (ended and not ends):
            return 0
        return min((end.begun for end in ends), default=NEVER)

    def acknowledged_ends(self, life: Life) -> Iterator[tuple[Operation, str | None]]:
        """What surely ended the job, and in which state, where that is certain."""
        for lease in life.leases:
            for write in lease.writes:
                if write.operation.ok and write.event in ENDING_FOR_GOOD:
                    yield write.operation, None if life.cancels else ENDING_FOR_GOOD[write.event]
        for operation in life.cancels:
            if operation.op == "cancel" and operation.ok and operation.told.after in FINAL:
                yield operation, operation.told.after


def _enqueued(operation: Operation, job: JobAsked, position: int) -> Origin:
    if not operation.ok:
        return Origin(operation, job, None)
    stored = operation.told.ids[position] == job.id
    return Origin(operation, job, stored, stored and operation.told.created[position])


def _writes(history: History) -> Iterator[Write]:
    """Every use of a token that was accepted, or may have been."""
    for operation in history.of("start", "progress"):
        for token in operation.asked.tokens:
            if not (operation.ok and token in operation.told.lost):
                yield Write(operation, token, operation.op)
    for operation in history.of("begin_once", "end_once"):
        if not (operation.ok and operation.told.status == "lost"):
            yield Write(operation, operation.asked.token, "once")
    for operation in history.of("finish"):
        lost = frozenset(operation.told.lost) if operation.ok else frozenset()
        for success in operation.asked.completed:
            if success.token not in lost:
                yield Write(operation, success.token, "complete")
        for failure in operation.asked.unfinished:
            if failure.token not in lost:
                yield Write(operation, failure.token, failure.event, failure.crash)


def _taken(operation: Operation) -> tuple[str, ...]:
    if not operation.ok:
        return ()
    told = operation.told
    jobs: tuple[str, ...] = told.jobs if operation.op == "recover" else told.waiting + told.dead
    return jobs


def by_key(lives: dict[str, Life], name: str) -> dict[str, list[Life]]:
    """The lives of jobs that share a key or a rate."""
    found: dict[str, list[Life]] = defaultdict(list)
    for life in lives.values():
        key = getattr(life.job, name, None)
        if key is not None:
            found[key].append(life)
    return found
