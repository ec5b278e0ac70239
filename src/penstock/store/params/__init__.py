"""What goes into and comes out of the store: one params object per method, in domain words.

Moments are microseconds since the epoch by the store's clock; durations are seconds.
"""

from penstock.store.params.duties import (
    AgeJobs as AgeJobs,
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
    TendGates as TendGates,
)
from penstock.store.params.flow import (
    DrainWorker as DrainWorker,
    OpenJobs as OpenJobs,
    PauseWork as PauseWork,
    ResizeWorker as ResizeWorker,
    ResumeWork as ResumeWork,
    Switched as Switched,
)
from penstock.store.params.jobs import (
    BeginOnce as BeginOnce,
    Claim as Claim,
    Claimed as Claimed,
    ClaimJobs as ClaimJobs,
    Completed as Completed,
    EndOnce as EndOnce,
    Enqueued as Enqueued,
    EnqueueJobs as EnqueueJobs,
    FinishJobs as FinishJobs,
    History as History,
    JobSpec as JobSpec,
    NewJob as NewJob,
    Once as Once,
    OnceStatus as OnceStatus,
    SaveProgress as SaveProgress,
    StartJobs as StartJobs,
    Unfinished as Unfinished,
    job_spec as job_spec,
)
from penstock.store.params.operating import (
    ALL_JOBS as ALL_JOBS,
    CancelJob as CancelJob,
    Cancelled as Cancelled,
    CheckStore as CheckStore,
    Count as Count,
    CountJobs as CountJobs,
    CountWaiting as CountWaiting,
    DeadFilter as DeadFilter,
    DeadPage as DeadPage,
    Finding as Finding,
    JobFilter as JobFilter,
    Level as Level,
    ListDead as ListDead,
    ListJobs as ListJobs,
    MigrationStatus as MigrationStatus,
    PurgeDead as PurgeDead,
    RetryDead as RetryDead,
    StoreInfo as StoreInfo,
    Waiting as Waiting,
)
from penstock.store.params.workers import (
    Heartbeat as Heartbeat,
    HeartbeatWorker as HeartbeatWorker,
    ReadSignals as ReadSignals,
    RegisterWorker as RegisterWorker,
    Signals as Signals,
    WorkerInfo as WorkerInfo,
    WorkerStatus as WorkerStatus,
)
