"""A store driven at random, step by step, against a model that knows nothing but domain.job.TRANSITIONS."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from penstock.domain.errors import NotLeader, WorkerInactive
from penstock.domain.job import FINAL, Event, State, next_state
from penstock.domain.options import NO_RESOURCES, Backoff
from penstock.domain.pauses import PauseKind
from penstock.store import params as p
from penstock.store.endings import AVOID_US
from penstock.store.params import Claim, ListJobs
from tests.contract.clock import FakeClock
from tests.contract.engines import BY_TURNS, Engine
from tests.contract.world import STALE_AFTER, World, policy_text

ATTEMPTS = 2
BACKOFF_SECONDS = 4.0
WORKERS = ("one", "two")
QUEUES = ("default", "mail")
PAUSABLE: list[tuple[PauseKind, str]] = [("queue", "default"), ("queue", "mail"), ("type", "task")]
START_TIMEOUT = 3.0
GIVE_BACKS_MAX = 1
LEASE = 10.0

delays = st.sampled_from([0.0, 1.0, 5.0])
picks = st.integers(0, 10_000)


@dataclass
class Modelled:
    """What must be true of one job."""

    id: str
    queue: str
    priority: int
    due_at: int
    expires_at: int | None
    state: State
    attempt: int = 0
    crashes: int = 0
    held: Claim | None = None
    holder: str = ""
    cancel_asked: bool = False
    claimed_at: int = 0
    given_back: int = 0
    avoid: int | None = None
    """The session whose attempt failed and asked for another worker."""

    def take(self, event: Event) -> None:
        self.state = next_state(self.state, event)


class StoreModel(RuleBasedStateMachine):
    engine: Engine

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        self.address = self.engine.address(Path(self.folder.name))
        self.world = World(self.engine.open(self.address, self.clock), self.clock)
        self.jobs: list[Modelled] = []
        self.old_tokens: list[Claim] = []
        self.sessions = {name: self.world.register(name) for name in WORKERS}
        self.heard_at = dict.fromkeys(WORKERS, self.clock.now_us())
        self.lost: set[str] = set()
        self.last_token = 0
        self.failing: set[str] = set()
        self.led_by = 0
        self.term = 0
        self.led_until = 0
        self.paused: set[tuple[PauseKind, str]] = set()

    def teardown(self) -> None:
        self.world.store.close()
        self.engine.drop(self.address)
        self.folder.cleanup()

    # What the model knows

    def held(self) -> list[Modelled]:
        return [job for job in self.jobs if job.held is not None]

    def pick(self, number: int) -> Modelled:
        held = self.held()
        return held[number % len(held)]

    def let_time_pass(self) -> None:
        for job in self.jobs:
            if job.state is State.SCHEDULED and job.due_at <= self.clock.now_us():
                job.take(Event.DUE)
        self.expire_overdue()  # It reads so before anybody has moved it.

    def give_up(self, job: Modelled) -> Claim:
        """The job leaves its worker's hands; its token is old from now on."""
        assert job.held is not None
        claim, job.held = job.held, None
        self.old_tokens.append(claim)
        return claim

    def returned(self, job: Modelled, event: Event, delay: float, avoid: int | None = None) -> None:
        """Back in line, or cancelled if that was asked for."""
        job.avoid = avoid
        if job.cancel_asked:
            job.take(Event.CANCEL)
            return
        job.take(event)
        job.due_at = self.clock.now_us() + int(delay * 1_000_000)
        if job.state is State.PENDING and delay:
            raise AssertionError("only a back-off waits")
        self.let_time_pass()

    # Steps

    @rule(
        queue=st.sampled_from(QUEUES), priority=st.integers(-1, 1), delay=delays,
        ttl=st.sampled_from([None, None, 3.0]),
    )  # fmt: skip
    def enqueue(self, queue: str, priority: int, delay: float, ttl: float | None) -> None:
        policy = policy_text(attempts=ATTEMPTS, backoff=Backoff(BACKOFF_SECONDS, 1.0, None), ttl=ttl)
        job_id = self.world.add(queue=queue, priority=priority, delay=delay, ttl=ttl, policy=policy)
        due_at = self.clock.now_us() + int(delay * 1_000_000)
        expires_at = None if ttl is None else due_at + int(ttl * 1_000_000)
        state = State.SCHEDULED if delay else State.PENDING
        self.jobs.append(Modelled(job_id, queue, priority, due_at, expires_at, state))

    @rule(seconds=st.sampled_from([0.5, 2.0, 4.0, STALE_AFTER + 1]))
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.let_time_pass()

    def is_paused(self, job: Modelled) -> bool:
        return ("queue", job.queue) in self.paused or ("type", "task") in self.paused

    @rule(what=st.sampled_from(PAUSABLE))
    def pause(self, what: tuple[PauseKind, str]) -> None:
        (done,) = self.world.pause(*what, force=True)
        assert done.changed is (what not in self.paused)
        self.paused.add(what)

    @precondition(lambda self: self.paused)
    @rule(number=picks)
    def resume(self, number: int) -> None:
        what = sorted(self.paused)[number % len(self.paused)]
        (done,) = self.world.resume(*what)
        assert done.changed
        self.paused.discard(what)

    def expire_overdue(self) -> None:
        for job in self.jobs:
            overdue = job.expires_at is not None and job.expires_at <= self.clock.now_us()
            if overdue and job.state is State.PENDING:
                job.take(Event.EXPIRE)

    @rule(name=st.sampled_from(WORKERS), limit=st.integers(1, 4))
    def claim(self, name: str, limit: int) -> None:
        if name in self.lost:
            return
        if name in self.failing:
            with pytest.raises(WorkerInactive):
                self.world.claim(self.sessions[name], limit)
            return
        now, session = self.clock.now_us(), self.sessions[name]
        self.expire_overdue()
        waiting = [
            job
            for job in self.jobs
            if job.state is State.PENDING and (job.avoid != session or job.due_at <= now - AVOID_US)
            if not self.is_paused(job)
        ]
        expected = sorted(waiting, key=lambda job: (-job.priority, job.due_at, job.id))[:limit]
        claims = self.world.claim(self.sessions[name], limit)
        assert [claim.id for claim in claims] == [job.id for job in expected]
        for job, claim in zip(expected, claims, strict=True):
            job.take(Event.CLAIM)
            job.attempt += 1
            job.held, job.holder, job.expires_at, job.claimed_at = claim, name, None, now
            assert (claim.attempt, claim.crashes) == (job.attempt, job.crashes)
            assert claim.token > self.last_token
            self.last_token = claim.token

    @precondition(lambda self: self.held())
    @rule(number=picks)
    def start(self, number: int) -> None:
        job = self.pick(number)
        assert job.held is not None
        assert self.world.start(job.held) == []
        if job.state is State.CLAIMED:
            job.take(Event.START)

    @precondition(lambda self: self.held())
    @rule(number=picks)
    def complete(self, number: int) -> None:
        job = self.pick(number)
        assert self.world.complete(self.give_up(job)) == []
        job.take(Event.CANCEL if job.cancel_asked else Event.COMPLETE)

    @precondition(lambda self: self.held())
    @rule(number=picks, delay=delays, elsewhere=st.booleans())
    def back_off(self, number: int, delay: float, elsewhere: bool) -> None:
        job = self.pick(number)
        avoid = self.sessions[job.holder] if elsewhere else None
        assert self.world.end(self.give_up(job), Event.BACK_OFF, delay=delay, elsewhere=elsewhere) == []
        self.returned(job, Event.BACK_OFF, delay, avoid)

    @precondition(lambda self: self.held())
    @rule(number=picks)
    def release(self, number: int) -> None:
        job = self.pick(number)
        assert self.world.end(self.give_up(job), Event.RELEASE) == []
        job.attempt -= 0 if job.cancel_asked else 1
        self.returned(job, Event.RELEASE, 0.0)

    @precondition(lambda self: self.held())
    @rule(number=picks, event=st.sampled_from([Event.FAIL, Event.CANCEL]))
    def end(self, number: int, event: Event) -> None:
        job = self.pick(number)
        assert self.world.end(self.give_up(job), event) == []
        job.take(Event.CANCEL if job.cancel_asked else event)

    @precondition(lambda self: self.old_tokens)
    @rule(number=picks, event=st.sampled_from([Event.COMPLETE, Event.BACK_OFF, Event.FAIL, Event.RELEASE]))
    def finish_with_an_old_token(self, number: int, event: Event) -> None:
        claim = self.old_tokens[number % len(self.old_tokens)]
        assert self.world.start(claim) == [claim.token]
        lost = self.world.complete(claim) if event is Event.COMPLETE else self.world.end(claim, event)
        assert lost == [claim.token]

    @precondition(lambda self: self.jobs)
    @rule(number=picks)
    def cancel(self, number: int) -> None:
        job = self.jobs[number % len(self.jobs)]
        before = job.state
        if job.held is not None:
            job.cancel_asked = True
        elif job.state not in FINAL:
            job.take(Event.CANCEL)
        found = self.world.cancel(job.id)
        assert (found.before, found.after) == (before, job.state)

    @rule(name=st.sampled_from(WORKERS))
    def heartbeat(self, name: str) -> None:
        assert self.world.heartbeat(self.sessions[name]) is (name not in self.lost)
        if name not in self.lost:
            self.heard_at[name] = self.clock.now_us()

    # Leading, and what the leader does

    @rule(name=st.sampled_from(WORKERS), resigns=st.booleans())
    def lead(self, name: str, resigns: bool) -> None:
        now, session = self.clock.now_us(), self.sessions[name]
        if resigns:
            self.led_until = min(now, self.led_until) if session == self.led_by else self.led_until
        elif name not in self.lost | self.failing and (session == self.led_by or self.led_until <= now):
            self.term += session != self.led_by
            self.led_by, self.led_until = session, now + int(LEASE * 1_000_000)
        found = self.world.store.lead_store(p.LeadStore(session, None if resigns else LEASE)).wait()
        acting = self.led_by == session and self.led_until > now
        assert (found.term, found.acting) == (self.term, acting)

    @precondition(lambda self: self.term > 1)
    @rule()
    def recover_with_an_old_term(self) -> None:
        with pytest.raises(NotLeader):
            self.world.store.recover_jobs(p.RecoverJobs(STALE_AFTER, term=self.term - 1)).wait()

    @rule()
    def give_back(self) -> None:
        timeout = int(START_TIMEOUT * 1_000_000)
        expected = [
            job for job in self.held()
            if job.state is State.CLAIMED and job.claimed_at + timeout <= self.heard_at[job.holder]
        ]  # fmt: skip
        params = p.GiveBackJobs(START_TIMEOUT, self.term or None, GIVE_BACKS_MAX)
        given = self.world.store.give_back_jobs(params).wait()
        dead = {job.id for job in expected if job.given_back >= GIVE_BACKS_MAX}
        cancelled = {job.id for job in expected if job.cancel_asked}
        assert set(given.waiting) == {job.id for job in expected} - dead - cancelled
        assert set(given.dead) == dead - cancelled
        for job in expected:
            self.give_up(job)
            if job.id in dead:
                job.take(Event.CANCEL if job.cancel_asked else Event.FAIL)
                continue
            job.attempt -= 0 if job.cancel_asked else 1
            job.given_back += 1
            self.returned(job, Event.RELEASE, 0.0)

    @rule()
    def expire(self) -> None:
        self.expire_overdue()
        self.world.store.expire_jobs(p.ExpireJobs(self.term or None)).wait()

    @rule(luck=st.integers(0, 5))
    def fail_unroutable(self, luck: int) -> None:
        if luck:
            return  # Seldom: it leaves nothing to play with.
        expected = [
            job for job in self.jobs
            if job.state is State.PENDING and job.queue == "default" and not self.is_paused(job)
        ]  # fmt: skip
        lane = p.FailUnroutable(
            type="task", queue="default", capability="general", resources=NO_RESOURCES, reason="no workers available"
        )
        assert set(self.world.store.fail_unroutable(lane).wait()) == {job.id for job in expected}
        for job in expected:
            job.take(Event.FAIL)

    @rule(name=st.sampled_from(WORKERS), well=st.booleans())
    def mark(self, name: str, well: bool) -> None:
        sessions = [self.sessions[name]]
        self.world.store.mark_workers(p.MarkWorkers(() if well else sessions, sessions if well else ())).wait()
        (self.failing.discard if well else self.failing.add)(name)

    @rule()
    def recover(self) -> None:
        before = self.clock.now_us() - int(STALE_AFTER * 1_000_000)
        stale = {name for name in WORKERS if name not in self.lost and self.heard_at[name] < before}
        expected = [job for job in self.held() if job.holder in stale]
        recovered = self.world.recover()
        assert (set(recovered.workers), set(recovered.jobs)) == (stale, {job.id for job in expected})
        self.lost |= stale
        for job in expected:
            self.crashed(job)

    def crashed(self, job: Modelled) -> None:
        self.give_up(job)
        job.crashes += 1
        if job.attempt >= ATTEMPTS and not job.cancel_asked:
            job.take(Event.FAIL)
        else:
            self.returned(job, Event.BACK_OFF, BACKOFF_SECONDS)

    @precondition(lambda self: self.lost)
    @rule(name=st.sampled_from(WORKERS))
    def register_again(self, name: str) -> None:
        if name in self.lost:
            self.sessions[name] = self.world.register(name)
            self.heard_at[name] = self.clock.now_us()
            self.lost.discard(name)
            self.failing.discard(name)

    # What must hold after every step

    @invariant()
    def the_store_agrees(self) -> None:
        stored = {job.id: job for job in self.world.store.list_jobs(ListJobs(limit=10_000)).wait()}
        found = [(stored[job.id].state, stored[job.id].attempt, stored[job.id].crashes) for job in self.jobs]
        assert found == [(job.state, job.attempt, job.crashes) for job in self.jobs]
        assert len(stored) == len(self.jobs)

    @invariant()
    def the_counts_agree(self) -> None:
        counts: Counter[State] = Counter()
        for count in self.world.store.count_jobs().wait():
            counts[count.state] += count.jobs
        assert counts == Counter(job.state for job in self.jobs)

    @invariant()
    def the_pauses_agree(self) -> None:
        assert {(pause.kind, pause.name) for pause in self.world.store.list_pauses().wait()} == self.paused


@pytest.mark.parametrize("engine", BY_TURNS)
def test_the_store_follows_the_model(engine: Engine) -> None:
    machine = type("Machine", (StoreModel,), {"engine": engine})
    run_state_machine_as_test(
        machine,
        settings=settings(
            derandomize=True,
            max_examples=engine.examples,
            stateful_step_count=40,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
