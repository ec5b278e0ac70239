"""What a handler knows of its job, and what it can say."""

from __future__ import annotations

import asyncio
import json
import logging
from contextvars import copy_context
from decimal import Decimal
from typing import Any, cast

import msgspec
import pytest

from penstock.client.client import JobCall
from penstock.domain.clock import from_us
from penstock.domain.current_call import running
from penstock.domain.errors import PayloadError, PayloadTooLarge, UsageError
from penstock.domain.job import Progress
from penstock.domain.options import Options, Policy, Tenant
from penstock.domain.registry import Declaration
from penstock.domain.signature import signature_of
from penstock.store.contract import Claim, JobSpec, SqlStore
from penstock.store.refused import RefusedStore
from penstock.worker.running.context import Context, current
from penstock.worker.running.run import Run, TypePlan
from tests.contract.clock import START_US


def handler() -> None: ...


def make_run(attempt: int = 1, tags: tuple[str, ...] | None = ("red",), policy: Policy = Policy()) -> Run:  # noqa: B008
    claim = Claim(
        token=7, id="the-id", type="mail", queue="slow", attempt=attempt, crashes=0, payload="{}", policy=None,
        priority=0, created_at=START_US, due_at=START_US, tenant=Tenant("acme"), tags=tags,
    )  # fmt: skip
    signature = signature_of(handler, skip_first=False)
    declaration = Declaration("mail", handler, signature, Options(), wants_context=False, is_async=False)
    plan = TypePlan(declaration, "mail", cast(SqlStore, RefusedStore("none")))
    return Run(claim, plan, policy, None, started=100.0, started_us=START_US)


def test_what_it_knows() -> None:
    run = make_run(attempt=2)
    context = Context(run)
    assert (context.id, context.type, context.queue, context.attempt) == ("the-id", "mail", "slow", 2)
    assert (context.max_attempts, context.final, context.token) == (3, False, 7)
    assert (context.tenant, context.tags, context.idempotency_key) == (Tenant("acme"), ("red",), "the-id")
    assert (context.resources, context.cancelled, context.deadline) == (None, False, None)
    assert Context(make_run(tags=None)).tags == ()


def test_the_last_attempt_is_final() -> None:
    assert Context(make_run(attempt=3)).final
    assert Context(make_run(attempt=1, policy=Policy(attempts=1))).final


def test_a_failure_that_is_decided_knows_whether_it_was_the_last() -> None:
    run = make_run(attempt=1)
    run.final = True
    assert Context(run).final
    run = make_run(attempt=3)
    run.final = False
    assert not Context(run).final


def test_the_deadline_is_a_moment() -> None:
    run = make_run()
    run.deadline = 105.5
    assert Context(run).deadline == from_us(START_US + 5_500_000)


def test_the_cancel_flag_is_live() -> None:
    run = make_run()
    context = Context(run)
    run.cancelled = True
    assert context.cancelled


def test_the_logger_carries_the_job() -> None:
    logger = Context(make_run(attempt=2)).logger
    assert logger.logger is logging.getLogger("penstock.job.mail")
    known = {"job_id": "the-id", "type": "mail", "queue": "slow", "attempt": 2, "tenant": "acme", "tags": ("red",)}
    assert logger.extra == known


def test_progress_is_stored_as_json_the_newest_wins() -> None:
    run = make_run()
    context = Context(run)
    context.report(10)
    asyncio.run(context.progress(50, phase="half", files=3))
    assert run.progress is not None
    assert json.loads(run.progress) == {"percent": 50, "phase": "half", "data": {"files": 3}}


@pytest.mark.parametrize("percent", [-0.1, 100.1, float("nan"), float("inf"), True, "50", Decimal(50)])
def test_a_percentage_that_is_not_possible(percent: Any) -> None:
    run = make_run()
    with pytest.raises(PayloadError, match=r"percent=.* is not possible: a number from 0 to 100"):
        Context(run).report(percent)
    assert run.progress is None


def test_a_phase_is_a_text() -> None:
    run = make_run()
    wrong: Any = 5
    with pytest.raises(PayloadError, match="phase=5 is not possible: a text"):
        Context(run).report(phase=wrong)
    assert run.progress is None


@pytest.mark.parametrize(("percent", "stored"), [(100.00000000000001, 100), (-1e-17, 0), (100 / 3, 33.333), (7, 7)])
def test_a_sum_of_floats_may_be_off_by_a_hair(percent: float, stored: float) -> None:
    run = make_run()
    Context(run).report(percent)
    assert run.progress is not None
    assert msgspec.json.decode(run.progress, type=Progress).percent == stored


def test_progress_that_is_too_large_or_not_json() -> None:
    context = Context(make_run())
    with pytest.raises(PayloadTooLarge):
        context.report(1, text="x" * 20_000)
    with pytest.raises(PayloadError):
        context.report(1, thing=object())


def test_follow_ups_are_collected_in_order() -> None:
    run = make_run()
    first, second = (JobCall[Any](payload, JobSpec(type="next")) for payload in ("1", "2"))
    Context(run).enqueue(first)
    Context(run).enqueue(second)
    assert list(run.follow_ups) == [first, second]
    with pytest.raises(UsageError, match="bind"):
        Context(run).enqueue("next")  # type: ignore[arg-type]
    run.over = True
    with pytest.raises(UsageError, match="this attempt has ended"):
        Context(run).enqueue(first)
    assert list(run.follow_ups) == [first, second]


def test_the_current_context_anywhere_below_the_handler() -> None:
    with pytest.raises(UsageError, match="outside of a job's handler"):
        current()

    def below() -> str:
        running.set(make_run())
        return current().id

    assert copy_context().run(below) == "the-id"
