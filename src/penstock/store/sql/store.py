"""The contract's methods that every SQL engine carries out alike: as operations that are written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from penstock.domain.flow.gates import Limit
from penstock.domain.flow.pauses import Pause
from penstock.domain.job import Job, Transition
from penstock.domain.options import Options
from penstock.domain.workflows import WorkflowInfo
from penstock.store import contract as p
from penstock.store.call import Call
from penstock.store.sql.declared import read_types
from penstock.store.sql.engine import Engine
from penstock.store.sql.gating import read_limits
from penstock.store.sql.operations import alerts, duties, figures, flow, jobs, once, reads, schedules, workers
from penstock.store.sql.steps import Steps
from penstock.store.sql.workflows import acting, reading

T = TypeVar("T")


class AlikeOnEngines:
    """What an engine's store is beside what it does its own way."""

    _pages: reads.Pages

    def _do(self, steps: Callable[[Engine], Steps[T]]) -> Call[T]:
        """All of an operation that changes something, or nothing of it."""
        raise NotImplementedError

    def _ask(self, steps: Callable[[], Steps[T]]) -> Call[T]:
        """One that only reads."""
        raise NotImplementedError

    # Workers and duties

    def begin_once(self, params: p.BeginOnce) -> Call[p.Once]:
        return self._do(lambda engine: once.begin_once(params))

    def register_worker(self, params: p.RegisterWorker) -> Call[p.Registered]:
        return self._do(lambda engine: workers.register_worker(engine, params))

    def give_back_jobs(self, params: p.GiveBackJobs) -> Call[p.GivenBack]:
        return self._do(lambda engine: duties.give_back_jobs(engine, params))

    def expire_jobs(self, params: p.ExpireJobs) -> Call[p.Expired]:
        return self._do(lambda engine: duties.expire_jobs(engine, params))

    def age_jobs(self, params: p.AgeJobs) -> Call[p.Changed]:
        return self._do(lambda engine: duties.age_jobs(engine, params))

    def fail_unroutable(self, params: p.FailUnroutable) -> Call[p.Unroutable]:
        return self._do(lambda engine: duties.fail_unroutable(engine, params))

    def tend_gates(self, params: p.TendGates) -> Call[None]:
        return self._do(lambda engine: duties.tend_gates(engine, params))

    def mark_workers(self, params: p.MarkWorkers) -> Call[None]:
        return self._do(lambda engine: duties.mark_workers(params))

    def list_workers(self) -> Call[list[p.WorkerInfo]]:
        return self._ask(reads.list_workers)

    def read_types(self) -> Call[dict[str, Options]]:
        return self._ask(read_types)

    def read_limits(self) -> Call[list[Limit]]:
        return self._ask(read_limits)

    # Seeing

    def read_job(self, job_id: str) -> Call[Job | None]:
        return self._ask(lambda: reads.read_job(self._pages, job_id))

    def list_jobs(self, params: p.ListJobs) -> Call[list[Job]]:
        return self._ask(lambda: reads.list_jobs(self._pages, params))

    def count_jobs(self, params: p.CountJobs = p.ALL_JOBS) -> Call[list[p.Count]]:
        return self._ask(lambda: reads.count_jobs(self._pages, params))

    def count_queues(self) -> Call[int]:
        return self._ask(reads.count_queues)

    def count_waiting(self, params: p.CountWaiting) -> Call[list[p.Waiting]]:
        return self._ask(lambda: reads.count_waiting(params))

    def read_history(self, job_id: str) -> Call[list[Transition]]:
        return self._ask(lambda: reads.read_history(job_id))

    # Operating

    def cancel_job(self, params: p.CancelJob) -> Call[p.Cancelled]:
        return self._do(lambda engine: jobs.cancel_job(engine, params))

    def pause_work(self, params: p.PauseWork) -> Call[list[p.Switched]]:
        return self._do(lambda engine: flow.pause_work(engine, params))

    def resume_work(self, params: p.ResumeWork) -> Call[list[p.Switched]]:
        return self._do(lambda engine: flow.resume_work(engine, params))

    def list_pauses(self) -> Call[list[Pause]]:
        return self._ask(flow.list_pauses)

    def count_open(self) -> Call[list[p.OpenJobs]]:
        return self._ask(reads.count_open)

    def drain_worker(self, params: p.DrainWorker) -> Call[bool]:
        return self._do(lambda engine: flow.drain_worker(engine, params))

    def resize_worker(self, params: p.ResizeWorker) -> Call[int]:
        return self._do(lambda engine: flow.resize_worker(engine, params))

    def list_dead(self, params: p.ListDead) -> Call[p.DeadPage]:
        return self._ask(lambda: reads.list_dead(self._pages, params))

    def count_dead(self, params: p.CountDead) -> Call[int]:
        return self._ask(lambda: reads.count_dead(params))

    def retry_dead(self, params: p.RetryDead) -> Call[p.Retried]:
        return self._do(lambda engine: jobs.retry_dead(engine, params))

    def purge_dead(self, params: p.PurgeDead) -> Call[p.Changed]:
        return self._do(lambda engine: jobs.purge_dead(engine, params))

    def prune_jobs(self, params: p.PruneJobs) -> Call[p.Changed]:
        return self._do(lambda engine: duties.prune_jobs(engine, params))

    # Workflows

    def read_workflow(self, workflow_id: str) -> Call[WorkflowInfo | None]:
        return self._ask(lambda: reading.read(workflow_id))

    def list_workflows(self, params: p.ListWorkflows) -> Call[list[WorkflowInfo]]:
        return self._ask(lambda: reading.list_all(params))

    def read_results(self, params: p.ReadResults) -> Call[list[p.StepResult]]:
        return self._ask(lambda: reading.results(params))

    def cancel_workflow(self, params: p.CancelWorkflow) -> Call[p.WorkflowCancelled]:
        return self._do(lambda engine: acting.cancel(engine, params))

    def retry_workflow(self, params: p.RetryWorkflow) -> Call[p.Changed]:
        return self._do(lambda engine: acting.retry(engine, params))

    def settle_workflows(self, params: p.SettleWorkflows) -> Call[p.Changed]:
        return self._do(lambda engine: duties.settle_workflows(engine, params))

    # Schedules

    def read_schedules(self, params: p.ReadSchedules) -> Call[p.SchedulePage]:
        return self._ask(lambda: schedules.read_schedules(params))

    def due_schedules(self, params: p.DueSchedules) -> Call[p.SchedulePage]:
        return self._ask(lambda: schedules.due_schedules(params))

    def change_schedules(self, params: p.ChangeSchedules) -> Call[p.SchedulesChanged]:
        return self._do(lambda engine: schedules.change_schedules(engine, params))

    # Figures

    def fold_figures(self, params: p.FoldFigures) -> Call[int]:
        return self._do(lambda engine: figures.fold_figures(params))

    def read_figures(self, params: p.ReadFigures) -> Call[p.FigurePage]:
        return self._ask(lambda: figures.read_figures(params))

    def count_gauges(self) -> Call[p.CountedGauges]:
        return self._ask(figures.count_gauges)

    def count_ended(self) -> Call[p.Ended]:
        return self._ask(figures.count_ended)

    def store_sample(self, params: p.StoreSample) -> Call[None]:
        return self._do(lambda engine: figures.store_sample(params))

    def read_sample(self) -> Call[p.Sample | None]:
        return self._ask(figures.read_sample)

    def read_capacity(self) -> Call[list[p.CapacityRow]]:
        return self._ask(figures.read_capacity)

    # Alerts

    def read_alerts(self) -> Call[p.AlertPage]:
        return self._ask(alerts.read_alerts)

    def change_alerts(self, params: p.ChangeAlerts) -> Call[list[tuple[str, str]]]:
        return self._do(lambda engine: alerts.change_alerts(params))

    def silence_alerts(self, params: p.SilenceAlerts) -> Call[p.Silence | None]:
        return self._do(lambda engine: alerts.silence_alerts(params))

    def read_signs(self, params: p.ReadSigns) -> Call[p.Signs]:
        return self._ask(lambda: alerts.read_signs(params))

    def read_clock(self) -> Call[int]:
        return self._ask(reads.read_clock)
