"""Ordered keys driven at random against a model: of each line exactly the first is given out, when it is due."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from penstock.domain.clock import MICROSECONDS, to_us
from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event, State
from penstock.store import contract as p
from tests.contract.clock import FakeClock
from tests.contract.engines import BY_TURNS, Engine
from tests.contract.world import STALE_AFTER, World, policy_text

picks = st.integers(0, 10_000)
seconds = st.sampled_from([0.0, 0.0, 1.0, 5.0])
TTL = 3.0


@dataclass
class Standing:
    """A job that has not ended. `place` is its due time as it was enqueued, and a number."""

    id: str
    type: str
    key: str
    place: tuple[int, int]
    due_at: int
    expires_at: int | None
    held: p.Claim | None = None


class LineModel(RuleBasedStateMachine):
    engine: Engine

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        self.address = self.engine.address(Path(self.folder.name))
        self.world = World(self.engine.open(self.address, self.clock), self.clock)
        self.session = self.world.register()
        self.workers = self.enqueued = 0
        self.jobs: list[Standing] = []

    def teardown(self) -> None:
        self.world.store.close()
        self.engine.drop(self.address)
        self.folder.cleanup()

    def firsts(self) -> list[Standing]:
        lines: dict[str, Standing] = {}
        for job in sorted(self.jobs, key=lambda job: job.place):
            lines.setdefault(job.key, job)
        return list(lines.values())

    def held(self) -> list[Standing]:
        return [job for job in self.jobs if job.held is not None]

    def give_up(self, number: int) -> tuple[Standing, p.Claim]:
        job = self.held()[number % len(self.held())]
        claim, job.held = job.held, None
        assert claim is not None
        return job, claim

    # Steps

    @rule(
        key=st.sampled_from("ab"), delay=seconds, past=st.sampled_from([None, None, None, 1.0, 7.0]),
        kinds=st.lists(st.sampled_from([("x", 0), ("y", 0), ("x", 5)]), min_size=1, max_size=4), apart=st.booleans(),
    )  # fmt: skip
    def enqueue(self, key: str, delay: float, past: float | None, kinds: list[tuple[str, int]], apart: bool) -> None:
        """In one call, or in one transaction of the caller's."""
        at = None if past is None else self.clock.now_us() - int(past * MICROSECONDS)
        jobs = [self.new_job(key, type_, priority=priority, delay=delay, at=at) for type_, priority in kinds]
        if apart:
            with self.world.store.transaction() as tx:
                self.world.store.enqueue_jobs(p.EnqueueJobs(jobs, tx)).wait()
        else:
            self.world.enqueue(*jobs)
        due_at = self.clock.now_us() + int(delay * MICROSECONDS) if at is None else at
        for job in jobs:
            self.enqueued += 1
            expires_at = None if job.spec.ttl is None else due_at + int(job.spec.ttl * MICROSECONDS)
            self.jobs.append(Standing(job.id, job.spec.type, key, (due_at, self.enqueued), due_at, expires_at))

    def new_job(self, key: str, type: str, **fields: Any) -> p.NewJob:
        ttl = TTL if type == "y" else None
        job = self.world.new_job(type=type, ttl=ttl, policy=policy_text(ttl=ttl), **fields)
        return msgspec.structs.replace(job, gates=(Gate(f"key:{key}", 1, None, "key:{key}", True),))

    @rule(step=st.sampled_from([0.5, 2.0, 6.0]))
    def advance(self, step: float) -> None:
        self.clock.advance(step)
        self.world.heartbeat(self.session)

    @rule(limit=st.sampled_from([1, 100]), types=st.sampled_from([("x", "y"), ("x",)]))
    def claim(self, limit: int, types: tuple[str, ...]) -> None:
        now = self.clock.now_us()
        self.world.store.expire_jobs(p.ExpireJobs()).wait()
        self.jobs = [job for job in self.jobs if job.expires_at is None or job.expires_at > now]
        busy = {job.key for job in self.held()}
        due = [job for job in self.firsts() if job.key not in busy and job.due_at <= now]
        expected = {job.id: job for job in due if job.type in types}
        claims = self.world.claim(self.session, limit, types=types)
        assert len(claims) == min(limit, len(expected))
        for claim in claims:
            job = expected[claim.id]
            job.held, job.expires_at = claim, None

    @precondition(lambda self: self.held())
    @rule(number=picks, keep=st.booleans())
    def complete(self, number: int, keep: bool) -> None:
        job, claim = self.give_up(number)
        assert self.world.complete(claim, keep=keep) == []
        self.jobs.remove(job)

    @precondition(lambda self: self.held())
    @rule(number=picks)
    def fail(self, number: int) -> None:
        job, claim = self.give_up(number)
        assert self.world.end(claim, Event.FAIL) == []
        self.jobs.remove(job)

    @precondition(lambda self: self.held())
    @rule(number=picks, delay=seconds)
    def back_off(self, number: int, delay: float) -> None:
        job, claim = self.give_up(number)
        assert self.world.end(claim, Event.BACK_OFF, delay=delay) == []
        job.due_at = self.clock.now_us() + int(delay * MICROSECONDS)

    @precondition(lambda self: self.jobs)
    @rule(number=picks)
    def cancel(self, number: int) -> None:
        job = self.jobs[number % len(self.jobs)]
        self.world.cancel(job.id)
        if job.held is not None:
            assert self.world.end(job.held, Event.BACK_OFF, delay=1.0) == []
        self.jobs.remove(job)

    @rule()
    def lose_the_worker(self) -> None:
        self.clock.advance(STALE_AFTER + 1)
        self.workers += 1
        self.session = self.world.register(f"worker-{self.workers}")
        self.world.recover()
        for job in self.held():
            found = self.world.read(job.id)
            job.held, job.due_at = None, to_us(found.due_at, "due_at")
            if found.state is State.DEAD:
                self.jobs.remove(job)
        self.world.store.tend_gates(p.TendGates()).wait()


@pytest.mark.parametrize("engine", BY_TURNS)
def test_lines_follow_the_model(engine: Engine) -> None:
    machine = type("Machine", (LineModel,), {"engine": engine})
    run_state_machine_as_test(
        machine,
        settings=settings(
            derandomize=True,
            max_examples=engine.examples // 3,
            stateful_step_count=40,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
