"""The composition root: one App ties a store, the declared jobs, the client and the worker together."""

from __future__ import annotations

from penstock.app.declaring import Declaring
from penstock.app.enqueueing import Enqueueing
from penstock.app.operating import Operating
from penstock.app.running import Running


class App(Declaring, Enqueueing, Operating, Running):
    """Jobs of one store. `App("sqlite:///jobs.db")` opens nothing yet: the store is opened at first use.

    - Declaring: job, batch_job, register, schedule, redact.
    - Enqueueing and following: enqueue, enqueue_many, spread, transaction, get, workflow, get_workflow.
    - Operating: pause_queue, resume_queue, pause_type, resume_type; and `schedules`, the book of those that there are.
    - Running: run_worker, run_coordinator.

    What waits for the store has a twin for async code, whose name begins with an a: aenqueue, aget, …

    - Seeing: `stats`, how much there is, what happened, how many workers it takes.

    `version` is that of your program, as PENSTOCK_APP_VERSION is: it is stored with each attempt.

    `lifespan` is an async context manager, entered once per worker; what it yields is ctx.resources.
    """
