"""Background work for Python: jobs in a durable store, run by workers, with nothing to install but this.

The public names, nothing else. Each is imported when it is first used, so that `import penstock` and the
command line start at once.
"""

TYPE_CHECKING = False  # Type checkers know this name; `typing` need not be imported for it.

if TYPE_CHECKING:
    from penstock.app import App
    from penstock.client.client import JobCall, JobHandle
    from penstock.client.schedules.schedule import Schedule
    from penstock.client.workflow import Workflow, WorkflowHandle
    from penstock.coordinator.settings import Retention
    from penstock.declare.jobtype import JobType
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
    from penstock.domain.failure.snooze import Snooze
    from penstock.domain.job import ErrorInfo, Job, Progress, State
    from penstock.domain.options import Concurrency, Exponential, Fixed, RateLimit, Resources, Tenant, Unique
    from penstock.domain.workflows import StepInfo, WorkflowInfo, WorkflowState
    from penstock.worker.running.batches import Failed
    from penstock.worker.running.context import BatchContext, Context, current
    from penstock.worker.running.handler import Handler

_HOME = {
    "penstock.app": ("App",),
    "penstock.client.client": ("JobCall", "JobHandle"),
    "penstock.domain.failure.snooze": ("Snooze",),
    "penstock.domain.job": ("ErrorInfo", "Job", "Progress", "State"),
    "penstock.domain.options": ("Concurrency", "Exponential", "Fixed", "RateLimit", "Resources", "Tenant", "Unique"),
    "penstock.domain.workflows": ("StepInfo", "WorkflowInfo", "WorkflowState"),
    "penstock.declare.jobtype": ("JobType",),
    "penstock.client.schedules.schedule": ("Schedule",),
    "penstock.worker.running.batches": ("Failed",),
    "penstock.worker.running.context": ("BatchContext", "Context", "current"),
    "penstock.worker.running.handler": ("Handler",),
    "penstock.coordinator.settings": ("Retention",),
    "penstock.client.workflow": ("Workflow", "WorkflowHandle"),
}
"""Where public names are at home. All others are errors."""
_MODULE = {name: module for module, names in _HOME.items() for name in names}


if not TYPE_CHECKING:  # Type checkers see the imports above, and know every other name as a mistake.

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module 'penstock' has no attribute {name!r}")
        value: object = getattr(import_module(_MODULE.get(name, "penstock.domain.errors")), name)
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
    "Snooze",
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
