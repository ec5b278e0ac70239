"""Histories made by hand: each line of a story is one call, a millisecond after the one before."""

from __future__ import annotations

from typing import Any

from tests.checker.events import (
    Event,
    Failure,
    JobAsked,
    JobClaimed,
    Phase,
    ScheduleChanged,
    StepAsked,
    Success,
    WorkflowAsked,
    kind_of,
)
from tests.checker.history import History
from tests.checker.rules import Bounds, Case
from tests.checker.truth import Effect, Step, TrueJob, TrueWorkflow, Truth

STEP_US = 1000


class Story:
    """What happens in it, what the store shows at its end, and the bounds that hold for it."""

    def __init__(self, **bounds: Any) -> None:
        self.events: list[Event] = []
        self.bounds = Bounds(**bounds)
        self._now = 0
        self._calls = 0
        self._jobs: list[TrueJob] = []
        self._workflows: list[TrueWorkflow] = []
        self._effects: list[Effect] = []
        self._counts: dict[str, int] | None = None

    # The pieces

    def _event(self, op: str, phase: Phase, process: str, call: int | None, **fields: Any) -> None:
        self._now += STEP_US
        self.events.append(kind_of(op, phase)(at=self._now, process=process, op=op, phase=phase, call=call, **fields))

    def ask(self, process: str, op: str, **fields: Any) -> int:
        """A question that is answered later, or never."""
        self._calls += 1
        self._event(op, "invoke", process, self._calls, **fields)
        return self._calls

    def tell(self, process: str, op: str, call: int, phase: Phase = "ok", **fields: Any) -> None:
        self._event(op, phase, process, call, **fields)

    def note(self, op: str, process: str = "test", **fields: Any) -> None:
        self._event(op, "note", process, None, **fields)

    def wait(self, seconds: float) -> None:
        self._now += int(seconds * 1_000_000)

    # Calls with their answers

    def enqueue(
        self, *jobs: str | JobAsked, phase: Phase = "ok", created: bool = True, holder: str | None = None, **given: Any
    ) -> None:
        """Jobs by id, all with the given options; `holder` is the job that has their unique key."""
        asked = tuple(job if isinstance(job, JobAsked) else JobAsked(id=job, **given) for job in jobs)
        call = self.ask("client", "enqueue", jobs=asked)
        ids = tuple(holder or job.id for job in asked)
        told = {"created": (created and holder is None,) * len(ids), "ids": ids} if phase == "ok" else {}
        self.tell("client", "enqueue", call, phase, **told)

    def claim(self, worker: str, *jobs: tuple[str, int, int] | tuple[str, int, int, int], **fields: Any) -> None:
        """Jobs as (id, token, attempt) or (id, token, attempt, crashes)."""
        call = self.ask(worker, "claim")
        self.tell(worker, "claim", call, jobs=tuple(JobClaimed(*job) for job in jobs), **fields)

    def start(self, worker: str, token: int, lost: bool = False) -> None:
        call = self.ask(worker, "start", tokens=(token,))
        self.tell(worker, "start", call, lost=(token,) if lost else ())

    def run(self, worker: str, id: str, token: int) -> None:
        self.note("run", worker, id=id, token=token)

    def complete(self, worker: str, id: str, token: int, phase: Phase = "ok", lost: bool = False) -> None:
        call = self.ask(worker, "finish", completed=(Success(id, token),))
        self.tell(worker, "finish", call, phase, **({"lost": (token,) if lost else ()} if phase == "ok" else {}))

    def end(self, worker: str, id: str, token: int, event: str, crash: bool = False, lost: bool = False) -> None:
        call = self.ask(worker, "finish", unfinished=(Failure(id, token, event, crash),))
        self.tell(worker, "finish", call, lost=(token,) if lost else ())

    def recover(self, worker: str, *ids: str) -> None:
        call = self.ask(worker, "recover")
        self.tell(worker, "recover", call, jobs=ids)

    def give_back(self, worker: str, *waiting: str) -> None:
        call = self.ask(worker, "give_back")
        self.tell(worker, "give_back", call, waiting=waiting)

    def cancel(self, id: str, before: str, after: str) -> None:
        call = self.ask("client", "cancel", id=id)
        self.tell("client", "cancel", call, before=before, after=after)

    def retry_dead(self, old: str, new: str) -> None:
        call = self.ask("operator", "retry_dead", new_ids=(new,))
        self.tell("operator", "retry_dead", call, pairs=((old, new),))

    def pause(self, kind: str, name: str) -> None:
        self.tell("operator", "pause_work", self.ask("operator", "pause_work", kind=kind, names=(name,)))

    def resume(self, kind: str, name: str) -> None:
        self.tell("operator", "resume_work", self.ask("operator", "resume_work", kind=kind, names=(name,)))

    def once(self, worker: str, token: int, key: str, status: str) -> None:
        call = self.ask(worker, "begin_once", token=token, key=key)
        self.tell(worker, "begin_once", call, status=status)

    def undo_once(self, worker: str, token: int, key: str) -> None:
        call = self.ask(worker, "end_once", token=token, key=key, undone=True)
        self.tell(worker, "end_once", call, status="done")

    def lead(self, worker: str, term: int, acting: bool = True, lease: float = 0.0) -> None:
        call = self.ask(worker, "lead")
        until = self._now + int(lease * 1_000_000)
        self.tell(worker, "lead", call, term=term, acting=acting, until=until)

    def duty(self, worker: str, term: int, phase: Phase = "ok") -> None:
        call = self.ask(worker, "duty", term=term, name="recover_jobs")
        self.tell(worker, "duty", call, phase)

    def fire(
        self,
        process: str,
        term: int | None,
        schedule: str,
        id: str,
        tick: int,
        phase: Phase = "ok",
        stored: bool = True,
    ) -> None:
        """A tick of a schedule and its job; without a term it is a person who makes one."""
        changes = (ScheduleChanged(schedule, (JobAsked(id=id, at=tick),)),)
        call = self.ask(process, "schedule", changes=changes, term=term)
        self.tell(process, "schedule", call, phase, **({"stored": (schedule,) * stored} if phase == "ok" else {}))

    def workflow(
        self, id: str, *steps: StepAsked, undo: str | None = None, phase: Phase = "ok", created: bool = True
    ) -> None:
        """`undo` is the job that compensates. Steps are made by step()."""
        call = self.ask("client", "enqueue_workflow", workflow=flow(id, *steps, undo=undo))
        self.tell("client", "enqueue_workflow", call, phase, **({"created": created} if phase == "ok" else {}))

    def cancel_workflow(self, id: str, before: str = "running") -> None:
        call = self.ask("client", "cancel_workflow", id=id)
        self.tell("client", "cancel_workflow", call, before=before, whole=True)

    def retry_workflow(self, id: str, *new_ids: str) -> None:
        call = self.ask("client", "retry_workflow", id=id, new_ids=new_ids)
        self.tell("client", "retry_workflow", call, jobs=len(new_ids) - 1)

    def settle(self, worker: str, jobs: int) -> None:
        self.tell(worker, "settle", self.ask(worker, "settle"), jobs=jobs)

    # The end

    def workflow_stored(self, id: str, state: str = "completed") -> None:
        self._workflows.append(TrueWorkflow(id, state))

    def stored(self, id: str, state: str = "completed", attempt: int = 1, steps: str = "", **fields: Any) -> None:
        """The store shows this job. `steps` are the events of its history, between spaces."""
        history = tuple(Step(event, 1) for event in steps.split())
        given = {"created_at": self._now, **fields}
        self._jobs.append(TrueJob(id=id, state=state, attempt=attempt, history=history, **given))

    def effect(self, id: str, token: int, key: str = "") -> None:
        self._effects.append(Effect(id, token, key))

    def counted(self, **counts: int) -> None:
        """What the store says when it counts, if that is not what it lists."""
        self._counts = counts

    @property
    def truth(self) -> Truth:
        counts: dict[str, int] = {}
        for job in self._jobs:
            counts[job.state] = counts.get(job.state, 0) + 1
        return Truth(
            jobs=tuple(self._jobs),
            workflows=tuple(self._workflows),
            effects=tuple(self._effects),
            counts=counts if self._counts is None else self._counts,
        )

    @property
    def case(self) -> Case:
        return Case(History(self.events), self.truth, self.bounds)


def step(*jobs: str, after: tuple[int, ...] = (), on_failure: str = "stop", **given: Any) -> StepAsked:
    """A step of a workflow: its jobs by id, and the numbers of the steps before it."""
    return StepAsked(tuple(JobAsked(id=id, **given) for id in jobs), after, on_failure)


def flow(id: str, *steps: StepAsked, undo: str | None = None) -> WorkflowAsked:
    return WorkflowAsked(id=id, steps=steps, compensate=None if undo is None else JobAsked(id=undo))
