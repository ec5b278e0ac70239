"""In a sandbox the worker is the next run(): what would fail without a live worker waits for it instead."""

from __future__ import annotations

import msgspec

from penstock.store.contract import ChangeSchedules, EnqueueJobs, EnqueueWorkflow, FinishJobs, NewJob, NewWorkflow

replace = msgspec.structs.replace


def patient_job(job: NewJob) -> NewJob:
    return job if job.spec.no_worker == "wait" else replace(job, spec=replace(job.spec, no_worker="wait"))


def patient_enqueue(params: EnqueueJobs) -> EnqueueJobs:
    return replace(params, jobs=[patient_job(job) for job in params.jobs])


def patient_changes(params: ChangeSchedules) -> ChangeSchedules:
    changes = [replace(one, jobs=tuple(patient_job(job) for job in one.jobs)) for one in params.changes]
    return replace(params, changes=changes)


def patient_workflow(params: EnqueueWorkflow) -> EnqueueWorkflow:
    return replace(params, workflow=_patient(params.workflow))


def patient_finish(params: FinishJobs) -> FinishJobs:
    return replace(
        params,
        follow_ups=[(token, patient_job(job)) for token, job in params.follow_ups],
        workflows=[(token, _patient(workflow)) for token, workflow in params.workflows],
    )


def _patient(workflow: NewWorkflow) -> NewWorkflow:
    steps = tuple(replace(step, jobs=tuple(patient_job(job) for job in step.jobs)) for step in workflow.steps)
    return replace(workflow, steps=steps, compensate=workflow.compensate and patient_job(workflow.compensate))
