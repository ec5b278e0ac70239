"""The contract that every engine satisfies, and that the contract suite checks on every engine.

One protocol per role, each in a module with what goes in and comes out: one params object per method, in domain words.
The docstring of each method states its guarantee. The contract says nothing about tables. How routing, limits, tenants,
schedules and chains fit into it is written in docs/decisions/0002-store-contract.md.

Rules for all methods:
- moments are microseconds since the epoch by the store's clock; durations are seconds;
- a method returns a Call: `await` it or `wait()` for it; it is one transaction, all or nothing;
- when it returns, its effect is committed at the durability that `info` states. Claims, starts, progress and
  heartbeats survive a crash of the process; a power failure may undo the newest of them, which offers the job again;
- an error means that nothing was stored, with one exception that says so: EnqueueUncertain;
- time is the store's own; what a job may do next is decided by domain.job.TRANSITIONS;
- what ends, returns or moves jobs answers what happened to each of them (happened.py), also to those that expire or
  cannot be read on its way.
"""

from typing import Protocol

from penstock.store.contract.admin import (
    Admin as Admin,
    CheckStore as CheckStore,
    Finding as Finding,
    Level as Level,
    MigrationStatus as MigrationStatus,
    StoreInfo as StoreInfo,
)
from penstock.store.contract.alerts import (
    ALERTS_READ_MAX as ALERTS_READ_MAX,
    LEASES_LOOKED_AT_MAX as LEASES_LOOKED_AT_MAX,
    RUNS_TOLD_MAX as RUNS_TOLD_MAX,
    AlertChange as AlertChange,
    AlertPage as AlertPage,
    AlertRow as AlertRow,
    AlertState as AlertState,
    AlertStore as AlertStore,
    ChangeAlerts as ChangeAlerts,
    DeadSign as DeadSign,
    HeldSign as HeldSign,
    ReadSigns as ReadSigns,
    Room as Room,
    Severity as Severity,
    Signs as Signs,
    Silence as Silence,
    SilenceAlerts as SilenceAlerts,
    Told as Told,
)
from penstock.store.contract.duties import (
    AgeJobs as AgeJobs,
    Duties as Duties,
    ExpireJobs as ExpireJobs,
    FailUnroutable as FailUnroutable,
    GiveBackJobs as GiveBackJobs,
    GivenBack as GivenBack,
    Leadership as Leadership,
    LeadStore as LeadStore,
    MarkWorkers as MarkWorkers,
    PruneJobs as PruneJobs,
    Recovered as Recovered,
    RecoverJobs as RecoverJobs,
    SettleWorkflows as SettleWorkflows,
    TendGates as TendGates,
)
from penstock.store.contract.figures import (
    KEPT_SECONDS as KEPT_SECONDS,
    SPANS as SPANS,
    CapacityRow as CapacityRow,
    CountedGauges as CountedGauges,
    Depth as Depth,
    Ended as Ended,
    FigurePage as FigurePage,
    FigureRow as FigureRow,
    FiguresStore as FiguresStore,
    FoldFigures as FoldFigures,
    Gauge as Gauge,
    Page as Page,
    ReadFigures as ReadFigures,
    Sample as Sample,
    Span as Span,
    StoreSample as StoreSample,
    TenantRow as TenantRow,
)
from penstock.store.contract.happened import (
    ALL_STORED as ALL_STORED,
    Changed as Changed,
    Expired as Expired,
    Finished as Finished,
    Happened as Happened,
    Unroutable as Unroutable,
)
from penstock.store.contract.operations import (
    CancelJob as CancelJob,
    Cancelled as Cancelled,
    DrainWorker as DrainWorker,
    Operations as Operations,
    PauseWork as PauseWork,
    PurgeDead as PurgeDead,
    ResizeWorker as ResizeWorker,
    ResumeWork as ResumeWork,
    Retried as Retried,
    RetryDead as RetryDead,
    Switched as Switched,
)
from penstock.store.contract.queue import (
    BeginOnce as BeginOnce,
    Claim as Claim,
    Claimed as Claimed,
    ClaimJobs as ClaimJobs,
    Completed as Completed,
    EndedAttempts as EndedAttempts,
    EndOnce as EndOnce,
    Enqueued as Enqueued,
    EnqueueJobs as EnqueueJobs,
    FinishJobs as FinishJobs,
    History as History,
    JobQueue as JobQueue,
    JobSpec as JobSpec,
    Listener as Listener,
    NewJob as NewJob,
    Once as Once,
    OnceStatus as OnceStatus,
    SaveProgress as SaveProgress,
    StartJobs as StartJobs,
    Unfinished as Unfinished,
    WholeKey as WholeKey,
    job_spec as job_spec,
)
from penstock.store.contract.reads import (
    ALL_JOBS as ALL_JOBS,
    ALL_STATES as ALL_STATES,
    LOOKED_AT_MAX as LOOKED_AT_MAX,
    Count as Count,
    CountDead as CountDead,
    CountJobs as CountJobs,
    CountWaiting as CountWaiting,
    DeadFilter as DeadFilter,
    DeadPage as DeadPage,
    JobFilter as JobFilter,
    ListDead as ListDead,
    ListJobs as ListJobs,
    OpenJobs as OpenJobs,
    Reads as Reads,
    Sort as Sort,
    Waiting as Waiting,
)
from penstock.store.contract.schedules import (
    TAG as TAG,
    ChangeSchedules as ChangeSchedules,
    DueSchedules as DueSchedules,
    Misfire as Misfire,
    ReadSchedules as ReadSchedules,
    ScheduleChange as ScheduleChange,
    SchedulePage as SchedulePage,
    SchedulePlan as SchedulePlan,
    ScheduleRow as ScheduleRow,
    Schedules as Schedules,
    SchedulesChanged as SchedulesChanged,
    ScheduleStatus as ScheduleStatus,
    decode_plan as decode_plan,
    job_of_plan as job_of_plan,
    plan_problem as plan_problem,
)
from penstock.store.contract.transactions import (
    Transaction as Transaction,
    Transactions as Transactions,
)
from penstock.store.contract.workers import (
    STALE_HEARTBEATS as STALE_HEARTBEATS,
    Heartbeat as Heartbeat,
    HeartbeatWorker as HeartbeatWorker,
    ReadSignals as ReadSignals,
    Registered as Registered,
    RegisterWorker as RegisterWorker,
    Signals as Signals,
    WorkerInfo as WorkerInfo,
    Workers as Workers,
    WorkerStatus as WorkerStatus,
)
from penstock.store.contract.workflows import (
    CancelWorkflow as CancelWorkflow,
    EnqueueWorkflow as EnqueueWorkflow,
    ListWorkflows as ListWorkflows,
    NewStep as NewStep,
    NewWorkflow as NewWorkflow,
    ReadResults as ReadResults,
    RetryWorkflow as RetryWorkflow,
    StepResult as StepResult,
    WorkflowCancelled as WorkflowCancelled,
    WorkflowEnqueued as WorkflowEnqueued,
    Workflows as Workflows,
)


class Store(
    JobQueue, Workers, Duties, Reads, Operations, Workflows, Schedules, FiguresStore, AlertStore, Admin, Protocol
):
    """A durable store of jobs: every role."""


class SqlStore(Store, Transactions, Protocol):
    """A store whose jobs can be part of a transaction of the caller's."""
