"""Background work for Python: jobs in a durable store, run by workers, with nothing to install but this.

The public names, nothing else. Each is imported when it is first used, so that `import penstock` and the
command line start at once.
"""

TYPE_CHECKING = False  # Type checkers know this name; `typing` need not be imported for it.

if TYPE_CHECKING:
    from penstock.app import App
    from penstock.client import JobCall, JobHandle
    from penstock.coordinator.settings import Retention
    from penstock.domain.errors import (
        AlreadyRetried,
        BatchError,
        CommitUncertain,
        ConfigError,
        DoNotRetry,
        EnqueueUncertain,
        HandlerError,
        JobCancelled,
        JobExpired,
        JobFailed,
        LeaseLost,
        NoEligibleWorker,
        NotAStore,
        OnceUncertain,
        PayloadError,
        PayloadTooLarge,
        PenstockError,
        ProcessDied,
        ResultGone,
        ResultTimeout,
        Retry,
        StoreBusy,
        StoreClosed,
        StoreError,
        StoreForked,
        StoreFull,
        StoreGone,
        StoreMissing,
        StoreReadOnly,
        StoreRefused,
        StoreUnavailable,
        StoreVersionError,
        UnknownJob,
        UnknownQueue,
        UnknownSchedule,
        UnknownType,
        UnknownWorker,
        UnknownWorkflow,
        UnsafeSQLite,
        UsageError,
        WorkerRefused,
    )
    from penstock.domain.job import ErrorInfo, Job, Progress, State
    from penstock.domain.options import Concurrency, Exponential, Fixed, RateLimit, Resources, Tenant, Unique
    from penstock.domain.workflows import StepInfo, WorkflowInfo, WorkflowState
    from penstock.jobtype import JobType
    from penstock.schedules.schedule import Schedule
    from penstock.worker.batches import Failed
    from penstock.worker.context import BatchContext, Context, current
    from penstock.worker.handler import Handler
    from penstock.workflow import Workflow, WorkflowHandle

_HOME = {
    "penstock.app": ("App",),
    "penstock.client": (
        "JobCall",
        "JobHandle",
    ),
    "penstock.domain.errors": (
        "AlreadyRetried",
        "BatchError",
        "CommitUncertain",
        "ConfigError",
        "DoNotRetry",
        "EnqueueUncertain",
        "HandlerError",
        "JobCancelled",
        "JobExpired",
        "JobFailed",
        "LeaseLost",
        "NoEligibleWorker",
        "NotAStore",
        "OnceUncertain",
        "PayloadError",
        "PayloadTooLarge",
        "PenstockError",
        "ProcessDied",
        "ResultGone",
        "ResultTimeout",
        "Retry",
        "StoreBusy",
        "StoreClosed",
        "StoreError",
        "StoreForked",
        "StoreFull",
        "StoreGone",
        "StoreMissing",
        "StoreReadOnly",
        "StoreRefused",
        "StoreUnavailable",
        "StoreVersionError",
        "UnknownJob",
        "UnknownQueue",
        "UnknownSchedule",
        "UnknownType",
        "UnknownWorker",
        "UnknownWorkflow",
        "UnsafeSQLite",
        "UsageError",
        "WorkerRefused",
    ),
    "penstock.domain.job": (
        "ErrorInfo",
        "Job",
        "Progress",
        "State",
    ),
    "penstock.domain.options": (
        "Concurrency",
        "Exponential",
        "Fixed",
        "RateLimit",
        "Resources",
        "Tenant",
        "Unique",
    ),
    "penstock.domain.workflows": (
        "StepInfo",
        "WorkflowInfo",
        "WorkflowState",
    ),
    "penstock.jobtype": ("JobType",),
    "penstock.schedules.schedule": ("Schedule",),
    "penstock.worker.batches": ("Failed",),
    "penstock.worker.context": (
        "BatchContext",
        "Context",
        "current",
    ),
    "penstock.worker.handler": ("Handler",),
    "penstock.coordinator.settings": ("Retention",),
    "penstock.workflow": (
        "Workflow",
        "WorkflowHandle",
    ),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}


if not TYPE_CHECKING:  # Type checkers see the imports above, and know every other name as a mistake.

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _MODULE:
            raise AttributeError(f"module 'penstock' has no attribute {name!r}")
        value: object = getattr(import_module(_MODULE[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "AlreadyRetried",
    "App",
    "BatchContext",
    "BatchError",
    "CommitUncertain",
    "Concurrency",
    "ConfigError",
    "Context",
    "DoNotRetry",
    "EnqueueUncertain",
    "ErrorInfo",
    "Exponential",
    "Failed",
    "Fixed",
    "Handler",
    "HandlerError",
    "Job",
    "JobCall",
    "JobCancelled",
    "JobExpired",
    "JobFailed",
    "JobHandle",
    "JobType",
    "LeaseLost",
    "NoEligibleWorker",
    "NotAStore",
    "OnceUncertain",
    "PayloadError",
    "PayloadTooLarge",
    "PenstockError",
    "ProcessDied",
    "Progress",
    "RateLimit",
    "Resources",
    "ResultGone",
    "ResultTimeout",
    "Retention",
    "Retry",
    "Schedule",
    "State",
    "StepInfo",
    "StoreBusy",
    "StoreClosed",
    "StoreError",
    "StoreForked",
    "StoreFull",
    "StoreGone",
    "StoreMissing",
    "StoreReadOnly",
    "StoreRefused",
    "StoreUnavailable",
    "StoreVersionError",
    "Tenant",
    "Unique",
    "UnknownJob",
    "UnknownQueue",
    "UnknownSchedule",
    "UnknownType",
    "UnknownWorker",
    "UnknownWorkflow",
    "UnsafeSQLite",
    "UsageError",
    "WorkerRefused",
    "Workflow",
    "WorkflowHandle",
    "WorkflowInfo",
    "WorkflowState",
    "current",
]
