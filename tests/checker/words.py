"""What is written down of each method of the store: its questions and answers in the words of events.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.domain.clock import MICROSECONDS
from penstock.domain.options import NO_RESOURCES, decode_policy
from penstock.store import contract as p
from tests.checker.events import (
    Failure,
    FollowingWorkflow,
    FollowUp,
    JobAsked,
    JobClaimed,
    ScheduleChanged,
    StepAsked,
    Success,
    UniqueAsked,
    WorkflowAsked,
)

Tokens = dict[int, str]
"""The job of each token that this process was given."""
Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Words:
    """`told` also gets the moment of the question."""

    op: str
    asked: Callable[[Any, Tokens], Fields] = lambda params, tokens: {}
    told: Callable[[Any, Any, Tokens, int], Fields] = lambda params, answer, tokens, asked_at: {}


def job_asked(job: p.NewJob) -> JobAsked:
    policy, unique = decode_policy(job.spec.policy), job.spec.unique
    keys = {gate.name.partition(":")[0]: gate.key for gate in job.gates}
    return JobAsked(
        id=job.id,
        type=job.spec.type,
        queue=job.spec.queue,
        priority=job.spec.priority,
        tenant=job.spec.tenant.org if job.spec.tenant else None,
        max_attempts=policy.attempts,
        unique=None if unique is None else UniqueAsked(job.spec.unique_key or "", unique.per),
        key=keys.get("key"),
        rate=keys.get("rate"),
        delay=job.spec.delay,
        at=job.spec.at,
        ttl=job.spec.ttl,
        resources=job.spec.resources != NO_RESOURCES,
        capability=job.spec.capability,
        remove_on_complete=policy.remove_on_complete,
        remove_on_fail=policy.remove_on_fail,
    )


def workflow_asked(new: p.NewWorkflow) -> WorkflowAsked:
    return WorkflowAsked(
        id=new.id,
        steps=tuple(StepAsked(tuple(map(job_asked, one.jobs)), one.after, one.on_failure) for one in new.steps),
        compensate=None if new.compensate is None else job_asked(new.compensate),
    )


def _enqueue_asked(params: p.EnqueueJobs, tokens: Tokens) -> Fields:
    return {"jobs": tuple(map(job_asked, params.jobs))}


def _enqueue_told(params: p.EnqueueJobs, stored: list[p.Enqueued], tokens: Tokens, asked_at: int) -> Fields:
    return {"created": tuple(one.created for one in stored), "ids": tuple(one.id for one in stored)}


def _claim_told(params: p.ClaimJobs, claimed: p.Claimed, tokens: Tokens, asked_at: int) -> Fields:
    tokens.update((job.token, job.id) for job in claimed.jobs)
    jobs = tuple(
        JobClaimed(job.id, job.token, job.attempt, job.crashes, job.passed_at, job.priority) for job in claimed.jobs
    )
    return {"session": params.session, "jobs": jobs, "claimed_at": claimed.claimed_at}


def _finish_asked(params: p.FinishJobs, tokens: Tokens) -> Fields:
    completed = tuple(Success(tokens.get(one.token, ""), one.token) for one in params.completed)
    unfinished = tuple(
        Failure(tokens.get(one.token, ""), one.token, str(one.event), one.crash) for one in params.unfinished
    )
    follow_ups = tuple(FollowUp(token, job_asked(job)) for token, job in params.follow_ups)
    workflows = tuple(FollowingWorkflow(token, workflow_asked(new)) for token, new in params.workflows)
    return {"completed": completed, "unfinished": unfinished, "follow_ups": follow_ups, "workflows": workflows}


def _schedule_asked(params: p.ChangeSchedules, tokens: Tokens) -> Fields:
    changes = tuple(ScheduleChanged(one.name, tuple(map(job_asked, one.jobs))) for one in params.changes)
    return {"changes": changes, "term": params.term}


def _lost_told(params: object, lost: list[int], tokens: Tokens, asked_at: int) -> Fields:
    return {"lost": tuple(lost)}


def _once_asked(params: p.BeginOnce | p.EndOnce, tokens: Tokens) -> Fields:
    return {"token": params.token, "key": params.key, "undone": isinstance(params, p.EndOnce) and params.undone}


def _end_once_told(params: p.EndOnce, current: bool, tokens: Tokens, asked_at: int) -> Fields:
    return {"status": "done" if current else "lost"}


def _lead_told(params: p.LeadStore, lead: p.Leadership, tokens: Tokens, asked_at: int) -> Fields:
    until = asked_at + int(lead.free_in * MICROSECONDS)
    return {"term": lead.term, "acting": lead.acting, "until": until if lead.acting else None}


WORDS: dict[str, Words] = {
    "enqueue_jobs": Words("enqueue", _enqueue_asked, _enqueue_told),
    "claim_jobs": Words("claim", told=_claim_told),
    "start_jobs": Words("start", lambda params, _: {"tokens": tuple(token for token, _ in params.starts)}, _lost_told),
    "save_progress": Words(
        "progress", lambda params, _: {"tokens": tuple(token for token, _ in params.progress)}, _lost_told
    ),
    "finish_jobs": Words("finish", _finish_asked, lambda params, told, *_: {"lost": tuple(told.lost)}),
    "begin_once": Words("begin_once", _once_asked, lambda params, once, *_: {"status": once.status}),
    "end_once": Words("end_once", _once_asked, _end_once_told),
    "register_worker": Words(
        "register",
        lambda params, _: {"worker": params.worker_id},
        lambda params, told, *_: {"session": told.session, "worker": params.worker_id},
    ),
    "heartbeat_worker": Words(
        "heartbeat", told=lambda params, beat, *_: {"session": params.session, "known": beat.known}
    ),
    "lead_store": Words("lead", told=_lead_told),
    "change_schedules": Words("schedule", _schedule_asked, lambda params, told, *_: {"stored": tuple(told.last)}),
    "recover_jobs": Words(
        "recover", told=lambda params, found, *_: {"jobs": tuple(found.jobs), "workers": tuple(found.workers)}
    ),
    "give_back_jobs": Words(
        "give_back", told=lambda params, found, *_: {"waiting": tuple(found.waiting), "dead": tuple(found.dead)}
    ),
    "expire_jobs": Words("expire"),
    "age_jobs": Words("age"),
    "fail_unroutable": Words("fail_unroutable", told=lambda params, failed, *_: {"jobs": tuple(failed.ids)}),
    "mark_workers": Words("mark"),
    "tend_gates": Words("tend"),
    "cancel_job": Words(
        "cancel",
        lambda params, _: {"id": params.id},
        lambda params, found, *_: {"before": str(found.before), "after": str(found.after)},
    ),
    "pause_work": Words("pause_work", lambda params, _: {"kind": params.kind, "names": tuple(params.names)}),
    "resume_work": Words("resume_work", lambda params, _: {"kind": params.kind, "names": tuple(params.names)}),
    "retry_dead": Words(
        "retry_dead",
        lambda params, _: {"new_ids": tuple(params.new_ids)},
        lambda params, told, *_: {"pairs": tuple(told.pairs)},
    ),
    "enqueue_workflow": Words(
        "enqueue_workflow",
        lambda params, _: {"workflow": workflow_asked(params.workflow)},
        lambda params, told, *_: {"created": told.created},
    ),
    "cancel_workflow": Words(
        "cancel_workflow",
        lambda params, _: {"id": params.id},
        lambda params, found, *_: {"before": str(found.before), "whole": found.after is None},
    ),
    "retry_workflow": Words(
        "retry_workflow",
        lambda params, _: {"id": params.id, "new_ids": tuple(params.new_ids)},
        lambda params, told, *_: {"jobs": told.jobs},
    ),
    "settle_workflows": Words("settle", told=lambda params, told, *_: {"jobs": told.jobs}),
    "purge_dead": Words("purge_dead", told=lambda params, told, *_: {"removed": told.jobs}),
    "prune_jobs": Words("prune", told=lambda params, told, *_: {"removed": told.jobs}),
}
