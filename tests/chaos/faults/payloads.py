"""Payloads that no handler can read, or that nobody should send."""

from __future__ import annotations

from typing import Any

from penstock import PayloadError, State
from penstock.domain.options import make_options
from penstock.store.contract import EnqueueJobs, NewJob, job_spec
from tests.chaos.actors import Broken
from tests.chaos.catalogue import fault
from tests.chaos.load import LOAD_TYPES, Plan, new_id, standard_load
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

DEEP = 100_000
HUGE = 10 * 2**20
ATTEMPTS = 3
UNKNOWN = "os.system"

REFUSED: dict[str, Any] = {
    "huge": "x" * HUGE,
    "not a number": float("nan"),
    "endless": float("inf"),
    "half a character": "\ud800",
}
"""What the client must refuse."""

RAW = {
    "no JSON": "{ms: 5",
    "nothing": "",
    "null": "null",
    "a list": "[5]",
    "a text": '"ms"',
    "another type": '{"value": ' + "1" * 400 + "e999}",
    "not a number": '{"value": NaN}',
    "deep": '{"value": ' + "[" * DEEP + "]" * DEEP + "}",
    "half a character": '{"value": "\\ud800"}',
    "a character that ends texts": '{"value": "a\\u0000b"}',
    "huge": '{"value": "' + "x" * HUGE + '"}',
    "a key twice": '{"value": 1, "value": 2}',
    "unknown fields": '{"value": 1, "nobody": "knows"}',
}
"""What another program, or an older version, might have stored: the worker must live with it."""


@fault(row=18)
def odd_payloads(stage: Stage) -> None:
    """Payloads that cannot be read end their job dead, with a reason, and harm nobody else."""
    stage.begin(standard_load(stage.dice, stage.size.jobs // 2), settings={"types": [*LOAD_TYPES, "echo"]})
    _refuse(stage)
    for text in RAW.values():
        _store_raw(stage, "echo", text)
    unknown = _store_raw(stage, UNKNOWN, '{"command": "false"}')
    stage.drain(but={UNKNOWN})
    if stage.app.get(unknown).state() is not State.PENDING:
        raise Broken("a job whose type no worker has did not wait")
    stage.app.get(unknown).cancel()
    truth = settle(stage)
    for job in truth.of_type("echo"):
        if job.state is State.DEAD and (job.reason is None or job.crashes):
            raise Broken(f"{job.id} is dead without a reason, or took its worker along: {job.reason}")


def _refuse(stage: Stage) -> None:
    for name, value in REFUSED.items():
        try:
            stage.app.enqueue("echo", {"value": value})
        except PayloadError:
            continue
        raise Broken(f"a payload was enqueued that should have been refused: {name}")


def _store_raw(stage: Stage, kind: str, text: str) -> str:
    plan = Plan(id=new_id(stage.dice), type=kind, payload={}, attempts=ATTEMPTS, ending="any")
    stage.plans[plan.id] = plan
    spec = job_spec(kind, make_options(attempts=ATTEMPTS))
    stage.recorded.enqueue_jobs(EnqueueJobs([NewJob(plan.id, text, spec)])).wait()
    return plan.id
