"""A store under test, with the verbs that the tests are written in. Sees the contract only."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

from penstock.domain.flow.pauses import PauseKind
from penstock.domain.job import ErrorInfo, Event, Job, State
from penstock.domain.options import Policy
from penstock.store import contract as p
from penstock.store.contract import SqlStore, Store
from penstock.system.ids import IdSource
from tests.contract.clock import FakeClock

STALE_AFTER = 30.0
NOT_STORABLE_AT = 2**80

Answer = TypeVar("Answer", bound=msgspec.Struct)


def policy_text(**fields: Any) -> str:
    """A policy as it is stored with a job."""
    return msgspec.json.encode(Policy(**fields)).decode()


def error_text(message: str, type: str = "ValueError") -> str:
    """An error as an attempt reports it."""
    return msgspec.json.encode(ErrorInfo(type, message)).decode()


def plain(answer: Answer) -> Answer:
    """Without what happened to jobs: that is looked at in test_happened.py."""
    return msgspec.structs.replace(answer, happened=())


class World:
    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store = cast("SqlStore", store)
        self.clock = clock
        self._ids = IdSource(clock)

    # Enqueue

    def new_job(self, **fields: Any) -> p.NewJob:
        job_id, payload = fields.pop("id", None) or self._ids.next_id(), fields.pop("payload", "{}")
        if fields.get("ttl") is not None:  # As every client stores it: in the policy, too.
            fields.setdefault("policy", policy_text(ttl=float(fields["ttl"])))
        return p.NewJob(job_id, payload, p.JobSpec(**{"type": "task", **fields}))

    def new_id(self) -> str:
        return self._ids.next_id()

    def enqueue(self, *jobs: p.NewJob) -> list[p.Enqueued]:
        return self.store.enqueue_jobs(p.EnqueueJobs(jobs)).wait()

    def add(self, **fields: Any) -> str:
        """Enqueue one job and answer its id."""
        return self.enqueue(self.new_job(**fields))[0].id

    def add_many(self, count: int, **fields: Any) -> list[str]:
        """Enqueue many in one call that share all but their ids."""
        one = self.new_job(**fields)
        return [new.id for new in self.enqueue(*(msgspec.structs.replace(one, id=self.new_id()) for _ in range(count)))]

    # Workers

    def register(self, worker_id: str = "worker", **fields: Any) -> int:
        known = {"host": "host", "pid": 1, "version": "1", "slots": 10, "stale_after": STALE_AFTER}
        return self.store.register_worker(p.RegisterWorker(worker_id=worker_id, **{**known, **fields})).wait().session

    def heartbeat(self, session: int, status: p.WorkerStatus = "active") -> bool:
        return self.store.heartbeat_worker(p.HeartbeatWorker(session, status)).wait().known

    def recover(self, limit: int = 500) -> p.Recovered:
        return self.store.recover_jobs(p.RecoverJobs(STALE_AFTER, limit)).wait()

    # Attempts

    def claim(self, session: int, limit: int = 100, **fields: Any) -> list[p.Claim]:
        return self.store.claim_jobs(p.ClaimJobs(session, limit, **fields)).wait().jobs

    def claim_one(self, session: int) -> p.Claim:
        (claim,) = self.claim(session, 1)
        return claim

    def start(self, *claims: p.Claim) -> list[int]:
        now = self.clock.now_us()
        return self.store.start_jobs(p.StartJobs([(claim.token, now) for claim in claims])).wait()

    def progress(self, claim: p.Claim, text: str) -> list[int]:
        return self.store.save_progress(p.SaveProgress([(claim.token, text)])).wait()

    def complete(self, *claims: p.Claim, history: p.History = "default", **fields: Any) -> list[int]:
        started_at = self.clock.now_us()
        completed = [p.Completed(claim.token, started_at, **fields) for claim in claims]
        return self.store.finish_jobs(p.FinishJobs(completed=completed, history=history)).wait().lost

    def end(self, claim: p.Claim, event: Event, history: p.History = "default", **fields: Any) -> list[int]:
        ending = p.Unfinished(token=claim.token, event=event, **fields)
        return self.store.finish_jobs(p.FinishJobs(unfinished=[ending], history=history)).wait().lost

    def add_dead(self, session: int, message: str = "broken", **fields: Any) -> str:
        """A job that was tried once and is dead."""
        job_id = self.add(**fields)
        (claim,) = self.claim(session, 1, types=(fields.get("type", "task"),))
        assert claim.id == job_id
        self.end(claim, Event.FAIL, error=error_text(message), reason="gave up")
        return job_id

    # Seeing and operating

    def find(self, job_id: str) -> Job | None:
        return self.store.read_job(job_id).wait()

    def read(self, job_id: str) -> Job:
        job = self.find(job_id)
        assert job is not None
        return job

    def state(self, job_id: str) -> State:
        return self.read(job_id).state

    def list_ids(self, **fields: Any) -> list[str]:
        return [job.id for job in self.store.list_jobs(p.ListJobs(**{"limit": 10_000, **fields})).wait()]

    def events(self, job_id: str) -> list[str]:
        return [step.event for step in self.store.read_history(job_id).wait()]

    def cancel(self, job_id: str, actor: str = "client") -> p.Cancelled:
        return self.store.cancel_job(p.CancelJob(job_id, actor)).wait()

    def pause(self, kind: PauseKind, *names: str, **fields: Any) -> list[p.Switched]:
        return self.store.pause_work(p.PauseWork(kind=kind, names=names, **fields)).wait()

    def resume(self, kind: PauseKind, *names: str, **fields: Any) -> list[p.Switched]:
        return self.store.resume_work(p.ResumeWork(kind=kind, names=names, **fields)).wait()

    def dead(self, **fields: Any) -> p.DeadPage:
        return self.store.list_dead(p.ListDead(filter=p.DeadFilter(**fields), limit=1000)).wait()

    def prune(self, **fields: Any) -> int:
        forever = {"completed_after": 1e9, "cancelled_after": 1e9}
        return self.store.prune_jobs(p.PruneJobs(**{**forever, **fields})).wait().jobs
