"""Every error that penstock raises on purpose. Each message names what is wrong and the fix."""

from __future__ import annotations

from collections.abc import Mapping


class PenstockError(Exception):
    """The base of all errors that penstock raises on purpose."""


class ConfigError(PenstockError):
    """A declaration, option or setting is wrong. The message names the value and the fix."""


class UsageError(PenstockError):
    """A call was made from a place where it cannot work, such as plain enqueue() in a running event loop."""


class PayloadError(PenstockError):
    """A payload or result cannot be turned into JSON, or does not fit the handler's parameters."""


class PayloadTooLarge(PayloadError):
    """A payload or result is over the size limit."""


class UnknownJob(PenstockError):
    """No job has this id: it never existed here, or retention has removed it."""


class UnknownQueue(PenstockError):
    """No job, no declared type and no worker of this store has this queue."""


class UnknownType(PenstockError):
    """No job, no declared type and no worker of this store has this job type."""


class UnknownWorkflow(PenstockError):
    """No workflow has this id: it never existed here, or retention has removed it."""


class UnknownWorker(PenstockError):
    """No worker with this id is alive: it never was, it has ended, or it was lost."""


class UnknownSchedule(PenstockError):
    """No schedule of this store has this name."""


class AlreadyRetried(PenstockError):
    """This dead letter was retried before. Force is needed to retry it again."""


class JobFailed(PenstockError):
    """The awaited job ended dead. `error` holds what the last attempt raised."""

    def __init__(self, message: str, error: object | None = None) -> None:
        super().__init__(message)
        self.error = error


class JobCancelled(PenstockError):
    """The awaited job was cancelled."""


class JobExpired(PenstockError):
    """The awaited job waited in the queue for longer than its time-to-live."""


class ResultTimeout(PenstockError, TimeoutError):
    """The job did not end within the time that the caller was willing to wait."""


class ResultGone(PenstockError):
    """The job has ended and its outcome was removed by the retention rule in force."""


class NoEligibleWorker(PenstockError):
    """No live worker can run this job."""


class Retry(PenstockError):
    """Raised by a handler: try again, after `after` (a duration) instead of the backoff."""

    def __init__(self, after: object | None = None, message: str = "the handler asked for a retry") -> None:
        super().__init__(message)
        self.after = after


class DoNotRetry(PenstockError):
    """Raised by a handler: this job will never succeed; do not try again."""


class BatchError(PenstockError):
    """A batch handler did not return one outcome for each of its items."""


class HandlerError(PenstockError):
    """What a handler raised in a child process, as it is told to the hooks. `info` holds type, message and stack."""

    def __init__(self, message: str, info: object | None = None) -> None:
        super().__init__(message)
        self.info = info


class ProcessDied(PenstockError):
    """The child process that ran a job died: it crashed, was killed, or called exit."""


class StoreError(PenstockError):
    """The job store could not do what was asked. Nothing of the failed call was stored."""


class CommitUncertain(StoreError):
    """The commit was begun and its outcome is unknown: it may or may not have been stored."""


class EnqueueUncertain(CommitUncertain):
    """It is not known whether the jobs were stored. Enqueue again with the same `ids`: it makes one job each."""

    def __init__(self, message: str, ids: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.ids = ids


class StoreBusy(StoreError):
    """Another program has held the store's write lock for too long."""


class StoreUnavailable(StoreError):
    """The database server does not answer, refuses connections, or cannot be written for now. Try again later."""


class StoreFull(StoreError):
    """The disk, or the size limit of the store, is full."""


class StoreRefused(StoreError):
    """The store does not take what it was given, now or later: a text that it cannot hold, or an id that is taken."""


class StoreReadOnly(StoreError):
    """The store cannot be written with the rights of this process."""


class StoreGone(StoreError):
    """The store was deleted or replaced while it was open."""


class StoreClosed(StoreError):
    """The store was closed."""


class StoreMissing(StoreError):
    """There is no store at this address."""


class StoreForked(StoreError):
    """The store was opened before a fork and is used in the child."""


class NotAStore(StoreError):
    """The file is not a penstock store, or not a database at all."""


class StoreVersionError(StoreError):
    """The store's schema does not fit this version of penstock."""


class UnsafeSQLite(StoreError):
    """The SQLite library of this process has a known defect that can corrupt the store."""


class LeaseLost(PenstockError):
    """The attempt's fencing token is no longer the current one: the job was recovered, cancelled or ended elsewhere."""


class NotLeader(PenstockError):
    """Another worker leads by now: what the one before still wanted to do was refused."""


class OnceUncertain(PenstockError):
    """An earlier attempt began this effect and was cut off: whether it happened is not known. It is not run again."""


class WorkerRefused(PenstockError):
    """The store refuses this worker: its id is taken by a live one, or it was declared lost."""


class WorkerInactive(WorkerRefused):
    """The worker did not answer its health probes: it gets no jobs until it does."""


class OutboundError(PenstockError):
    """A request to somebody else over HTTP came to nothing. Its message names scheme and host: more may be secret."""


class OutboundRefused(OutboundError):
    """The outbound door does not let this request out. Nothing was sent, and trying again changes nothing."""


class OutboundFailed(OutboundError):
    """The request was let out, and failed: there was no answer, or one with the status and headers that are here."""

    def __init__(self, message: str, status: int | None = None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
