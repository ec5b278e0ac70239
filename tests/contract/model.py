"""What must be true of a store that is driven at random, step by step: a model that knows domain.job.TRANSITIONS."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from penstock.domain.errors import NotLeader, WorkerInactive
from penstock.domain.flow.pauses import PauseKind
from penstock.domain.job import FINAL, Event, State, next_state
from penstock.domain.options import NO_RESOURCES, Backoff, Unique
from penstock.store import contract as p
from penstock.store.contract import Claim, ListJobs
from penstock.store.sql.endings import AVOID_US
from tests.contract.clock import FakeClock
from tests.contract.engines import Engine
from tests.contract.world import STALE_AFTER, World, plain, policy_text

ATTEMPTS = 2
BACKOFF_SECONDS = 4.0
WORKERS = ("one", "two")
QUEUES = ("default", "mail")
PAUSABLE: list[tuple[PauseKind, str]] = [("queue", "default"), ("queue", "mail"), ("type", "task")]
START_TIMEOUT = 1.5
GIVE_BACKS_MAX = 1
LEASE = 10.0
AGEING = 2.0
KEY = Unique("key")
DELAYS = (0.0, 0.0, 1.0, 5.0)
WEIGHTS = {
    "enqueue": 4,
    "work": 6,
    "finish": 5,
    "advance": 4,
    "operate": 3,
    "lead_on": 5,
    "lead": 1,
    "mark": 1,
    "late": 1,
}
"""What a walk does, and how often."""


def say(*words: object) -> None:
    """Shown when a test fails."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")


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
    snoozes: int = 0
    held: Claim | None = None
    holder: str = ""
    cancel_asked: bool = False
    claimed_at: int = 0
    given_back: int = 0
    avoid: int | None = None
    """The session whose attempt failed and asked for another worker."""
    unique: bool = False
    ttl: float | None = None
    features: set[str] = field(default_factory=set)
    """What has come together on it."""

    def take(self, event: Event, *features: str) -> None:
        self.state = next_state(self.state, event)
        self.note(*features)
        if event is Event.CANCEL:
            self.note("cancelled")

    def note(self, *features: str) -> None:
        self.features.update(features)


class StoreModel:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
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

    def close(self) -> None:
        self.world.store.close()
        self.engine.drop(self.address)
        self.folder.cleanup()

    # What the model knows

    def held(self) -> list[Modelled]:
        return [job for job in self.jobs if job.held is not None]

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
            raise AssertionError("only a back-off and a snooze wait")
        self.let_time_pass()

    # Steps

    def step(self, random: Random) -> None:
        self.clock.advance(0.001)  # No two things happen in the same moment.
        self.let_time_pass()
        (name,) = random.choices(list(WEIGHTS), list(WEIGHTS.values()))
        getattr(self, name)(random)
        self.the_store_agrees()
        self.the_counts_agree()
        self.the_pauses_agree()

    def enqueue(self, random: Random) -> None:
        count, queue, priority, delay = (
            random.randint(1, 3),
            random.choice(QUEUES),
            random.randint(-1, 1),
            random.choice(DELAYS),
        )
        ttl, unique = random.choice([None, 3.0]), random.random() < 0.5
        say("enqueue", count, queue, priority, delay, ttl, unique)
        for number in range(count):
            self.enqueue_one(queue, priority, delay, ttl, unique=unique and not number)

    def enqueue_one(self, queue: str, priority: int, delay: float, ttl: float | None, *, unique: bool) -> None:
        policy = policy_text(attempts=ATTEMPTS, backoff=Backoff(BACKOFF_SECONDS, 1.0, None), ttl=ttl)
        new = self.world.new_job(
            queue=queue, priority=priority, delay=delay, ttl=ttl, policy=policy, unique=KEY if unique else None
        )
        holder = next((job for job in self.jobs if unique and job.unique and job.state not in FINAL), None)
        assert [plain(one) for one in self.world.enqueue(new)] == [
            p.Enqueued(holder.id if holder else new.id, holder is None)
        ]
        if holder is None:
            self.add(new.id, queue, priority, delay, ttl, unique=unique)

    def add(
        self, job_id: str, queue: str, priority: int, delay: float, ttl: float | None, *, unique: bool = False
    ) -> Modelled:
        due_at = self.clock.now_us() + int(delay * 1_000_000)
        expires_at = None if ttl is None else due_at + int(ttl * 1_000_000)
        state = State.SCHEDULED if delay else State.PENDING
        job = Modelled(job_id, queue, priority, due_at, expires_at, state, unique=unique, ttl=ttl)
        has = {"priority": priority, "delay": delay, "ttl": ttl, "unique": unique}
        job.note(*(name for name, is_so in has.items() if is_so))
        self.jobs.append(job)
        return job

    def requeue(self, number: int) -> None:
        dead = [job for job in self.jobs if job.state in (State.DEAD, State.EXPIRED) and "requeued" not in job.features]
        if not dead:
            return
        old, new_id = dead[number % len(dead)], self.world.new_id()
        again = p.RetryDead(filter=p.DeadFilter(ids=(old.id,)), new_ids=[new_id])
        assert self.world.store.retry_dead(again).wait().pairs == [(old.id, new_id)]
        old.note("requeued")
        self.add(new_id, old.queue, old.priority, 0.0, old.ttl).note("requeued")

    def age(self) -> None:
        for job in self.jobs:
            earned = (self.clock.now_us() - job.due_at) // int(AGEING * 1_000_000)
            if job.state is State.PENDING and earned > max(0, job.priority):
                job.priority = earned
                job.note("aged")
        self.world.store.age_jobs(p.AgeJobs(AGEING, self.term or None)).wait()

    def advance(self, random: Random) -> None:
        seconds, beats = random.choice([0.5, 2.0, 4.0, 4.0, STALE_AFTER + 1]), random.random() < 0.6
        say("advance", seconds, beats)
        self.clock.advance(seconds)
        self.let_time_pass()
        for name in WORKERS if beats else ():
            self.heartbeat(name)
        if random.random() < 0.5:
            self.recover()

    def is_paused(self, job: Modelled) -> bool:
        return ("queue", job.queue) in self.paused or ("type", "task") in self.paused

    def pause(self, number: int) -> None:
        what = PAUSABLE[number % len(PAUSABLE)]
        (done,) = self.world.pause(*what, force=True)
        assert done.changed is (what not in self.paused)
        self.paused.add(what)
        for job in self.jobs:
            if job.state is State.PENDING and self.is_paused(job):
                job.note("paused")

    def resume(self, number: int) -> None:
        if not self.paused:
            return
        what = sorted(self.paused)[number % len(self.paused)]
        (done,) = self.world.resume(*what)
        assert done.changed
        self.paused.discard(what)

    def expire_overdue(self) -> None:
        for job in self.jobs:
            overdue = job.expires_at is not None and job.expires_at <= self.clock.now_us()
            if overdue and job.state is State.PENDING:
                job.take(Event.EXPIRE, "expired")

    def work(self, random: Random) -> None:
        name, limit = random.choice(WORKERS), random.randint(1, 4)
        begins, comes_back = random.random() < 0.3, random.random() < 0.7
        say("work", name, limit, begins, comes_back)
        if name in self.lost:
            if not comes_back:
                return
            self.register_again(name)
        held = {job.id for job in self.held()}
        self.claim(name, limit)
        for job in self.held() if begins else ():
            if job.id not in held:
                self.start(job)

    def claim(self, name: str, limit: int) -> None:
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
            assert (claim.attempt, claim.crashes, claim.snoozes) == (job.attempt, job.crashes, job.snoozes)
            assert claim.token > self.last_token
            self.last_token = claim.token

    def start(self, job: Modelled) -> None:
        assert job.held is not None
        assert self.world.start(job.held) == []
        if job.state is State.CLAIMED:
            job.take(Event.START, "begun")

    def finish(self, random: Random) -> None:
        if not self.held():
            return
        how = random.choice(["complete", "back off", "back off", "release", "snooze", "fail", "cancel", "start"])
        job, delay, elsewhere = random.choice(self.held()), random.choice(DELAYS), random.random() < 0.5
        say("finish", how, job.id, delay, elsewhere)
        if how == "start":
            self.start(job)
        elif how == "back off":
            self.back_off(job, delay, elsewhere=elsewhere)
        elif how == "release":
            self.release(job)
        elif how == "snooze":
            self.snooze(job, delay)
        elif how == "complete":
            assert self.world.complete(self.give_up(job)) == []
            job.take(Event.CANCEL if job.cancel_asked else Event.COMPLETE)
        else:
            event = Event(how)
            assert self.world.end(self.give_up(job), event) == []
            job.take(Event.CANCEL if job.cancel_asked else event)

    def back_off(self, job: Modelled, delay: float, *, elsewhere: bool) -> None:
        avoid = self.sessions[job.holder] if elsewhere else None
        assert self.world.end(self.give_up(job), Event.BACK_OFF, delay=delay, elsewhere=elsewhere) == []
        self.returned(job, Event.BACK_OFF, delay, avoid)
        job.note("backed off", *["elsewhere"] * elsewhere)

    def release(self, job: Modelled) -> None:
        assert self.world.end(self.give_up(job), Event.RELEASE) == []
        job.attempt -= 0 if job.cancel_asked else 1
        self.returned(job, Event.RELEASE, 0.0)
        job.note("released")

    def snooze(self, job: Modelled, delay: float) -> None:
        assert self.world.end(self.give_up(job), Event.SNOOZE, delay=delay) == []
        job.attempt -= 0 if job.cancel_asked else 1
        job.snoozes += 0 if job.cancel_asked else 1
        self.returned(job, Event.SNOOZE, delay)
        job.note("snoozed")

    def late(self, random: Random) -> None:
        """Whoever comes with an old token changes nothing."""
        if not self.old_tokens:
            return
        claim = random.choice(self.old_tokens)
        event = random.choice([Event.COMPLETE, Event.BACK_OFF, Event.FAIL, Event.RELEASE, Event.SNOOZE])
        say("late", claim.id, event)
        assert self.world.start(claim) == [claim.token]
        lost = self.world.complete(claim) if event is Event.COMPLETE else self.world.end(claim, event)
        assert lost == [claim.token]

    def operate(self, random: Random) -> None:
        acts = {"pause": self.pause, "resume": self.resume, "cancel": self.cancel, "requeue": self.requeue}
        what, number = (
            random.choice(["pause", "resume", "cancel", "requeue"]),
            random.randrange(10_000),
        )
        say(what, number)
        acts[what](number)

    def cancel(self, number: int) -> None:
        if not self.jobs:
            return
        job = self.jobs[number % len(self.jobs)]
        before = job.state
        if job.held is not None:
            job.cancel_asked = True
        elif job.state not in FINAL:
            job.take(Event.CANCEL)
        found = self.world.cancel(job.id)
        assert (found.before, found.after) == (before, job.state)

    def heartbeat(self, name: str) -> None:
        assert self.world.heartbeat(self.sessions[name]) is (name not in self.lost)
        if name not in self.lost:
            self.heard_at[name] = self.clock.now_us()

    # Leading, and what the leader does

    def lead_on(self, random: Random) -> None:
        what = random.choice(
            ["give back", "give back", "expire", "age", "age", "no worker", "recover", "recover", "old term"]
        )
        say(what)
        duties = {
            "give back": self.give_back, "expire": self.expire, "age": self.age, "no worker": self.fail_unroutable,
            "recover": self.recover, "old term": self.recover_with_an_old_term,
        }  # fmt: skip
        duties[what]()

    def lead(self, random: Random) -> None:
        name, resigns = random.choice(WORKERS), random.random() < 0.5
        say("lead", name, resigns)
        now, session = self.clock.now_us(), self.sessions[name]
        if resigns:
            self.led_until = min(now, self.led_until) if session == self.led_by else self.led_until
        elif name not in self.lost | self.failing and (session == self.led_by or self.led_until <= now):
            self.term += session != self.led_by
            self.led_by, self.led_until = session, now + int(LEASE * 1_000_000)
        found = self.world.store.lead_store(p.LeadStore(session, None if resigns else LEASE)).wait()
        acting = self.led_by == session and self.led_until > now
        assert (found.term, found.acting) == (self.term, acting)

    def recover_with_an_old_term(self) -> None:
        if self.term <= 1:
            return
        with pytest.raises(NotLeader):
            self.world.store.recover_jobs(p.RecoverJobs(STALE_AFTER, term=self.term - 1)).wait()

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
            job.note("given back")
            if job.id in dead:
                job.take(Event.CANCEL if job.cancel_asked else Event.FAIL)
                continue
            job.attempt -= 0 if job.cancel_asked else 1
            job.given_back += 1
            self.returned(job, Event.GIVE_BACK, 0.0)

    def expire(self) -> None:
        self.expire_overdue()
        self.world.store.expire_jobs(p.ExpireJobs(self.term or None)).wait()

    def fail_unroutable(self) -> None:
        expected = [
            job for job in self.jobs
            if job.state is State.PENDING and job.queue == "default" and not self.is_paused(job)
        ]  # fmt: skip
        lane = p.FailUnroutable(
            type="task", queue="default", capability="general", resources=NO_RESOURCES, reason="no workers available"
        )
        assert set(self.world.store.fail_unroutable(lane).wait().ids) == {job.id for job in expected}
        for job in expected:
            job.take(Event.FAIL, "no worker")

    def mark(self, random: Random) -> None:
        name, well = random.choice(WORKERS), random.random() < 0.7
        say("mark", name, well)
        sessions = [self.sessions[name]]
        self.world.store.mark_workers(
            p.MarkWorkers(() if well else sessions, sessions if well else (), lasts=1e6)
        ).wait()
        (self.failing.discard if well else self.failing.add)(name)

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
        job.note("recovered")
        job.crashes += 1
        if job.attempt >= ATTEMPTS and not job.cancel_asked:
            job.take(Event.FAIL)
        else:
            self.returned(job, Event.RECOVER, BACKOFF_SECONDS)

    def register_again(self, name: str) -> None:
        self.sessions[name] = self.world.register(name)
        self.heard_at[name] = self.clock.now_us()
        self.lost.discard(name)
        self.failing.discard(name)

    # What must hold after every step

    def the_store_agrees(self) -> None:
        stored = {job.id: job for job in self.world.store.list_jobs(ListJobs(limit=10_000)).wait()}
        found = [(one.state, one.attempt, one.crashes, one.snoozes) for one in (stored[job.id] for job in self.jobs)]
        assert found == [(job.state, job.attempt, job.crashes, job.snoozes) for job in self.jobs]
        assert len(stored) == len(self.jobs)
        waiting = [job for job in self.jobs if job.state in (State.PENDING, State.SCHEDULED)]
        assert [stored[job.id].priority for job in waiting] == [job.priority for job in waiting]

    def the_counts_agree(self) -> None:
        counts: Counter[State] = Counter()
        for count in self.world.store.count_jobs().wait():
            counts[count.state] += count.jobs
        assert counts == Counter(job.state for job in self.jobs)

    def the_pauses_agree(self) -> None:
        assert {(pause.kind, pause.name) for pause in self.world.store.list_pauses().wait()} == self.paused
