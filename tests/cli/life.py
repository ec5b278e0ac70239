"""The life of one job, led step by step by the test, as a worker in another process would."""

from __future__ import annotations

import msgspec

from penstock import App
from penstock.domain.job import ErrorInfo, Event
from penstock.store.contract import (
    ClaimJobs,
    Completed,
    FinishJobs,
    RegisterWorker,
    SaveProgress,
    StartJobs,
    Unfinished,
)


class Life:
    """A worker that has claimed and begun this job."""

    def __init__(self, app: App, job_id: str) -> None:
        self.job_id = job_id
        self._store = app.store
        self._session = (
            self._store.register_worker(
                RegisterWorker(worker_id="by-hand", host="here", pid=1, version="1", slots=1, stale_after=3600.0)
            )
            .wait()
            .session
        )
        self.begins()

    def begins(self) -> None:
        (claim,) = self._store.claim_jobs(ClaimJobs(self._session, 1)).wait().jobs
        assert claim.id == self.job_id
        self._token = claim.token
        self._store.start_jobs(StartJobs([(claim.token, claim.due_at)])).wait()

    def says(self, progress: str) -> None:
        self._store.save_progress(SaveProgress([(self._token, progress)])).wait()

    def completes(self, result: str, *, keep: bool = True) -> None:
        done = Completed(self._token, 0, result, None, keep)
        self._store.finish_jobs(FinishJobs(completed=[done])).wait()

    def fails(self, message: str, *, retry_in: float | None = 0.0) -> None:
        """Fail, and try again, or with retry_in=None be dead."""
        error = msgspec.json.encode(ErrorInfo("ValueError", message)).decode()
        event = Event.FAIL if retry_in is None else Event.BACK_OFF
        end = Unfinished(token=self._token, event=event, delay=retry_in or 0.0, error=error, reason="all attempts used")
        self._store.finish_jobs(FinishJobs(unfinished=[end])).wait()

    def heeds_cancel(self) -> None:
        end = Unfinished(token=self._token, event=Event.CANCEL)
        self._store.finish_jobs(FinishJobs(unfinished=[end])).wait()
