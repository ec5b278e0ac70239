"""`penstock jobs show`: everything about one job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.cli.input.options import AsJson, JobId, StoreUrl
from penstock.cli.input.storage import existing_store, read_job
from penstock.cli.jobs.family import read_family
from penstock.cli.jobs.list import said
from penstock.cli.output.say import say
from penstock.cli.output.tables import clean, field, moment, one_line, print_json, show, table, text
from penstock.cli.queues.list import pause_document
from penstock.cli.running.guard import guarded

if TYPE_CHECKING:
    from penstock.domain.flow.pauses import Pause
    from penstock.domain.job import Job, Transition
    from penstock.store.contract import Store

# These are long and come after the rest, each under its own heading.
LONG = ("payload", "result", "error")


@guarded
def show_job(job_id: JobId, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Show everything about one job: options, times, progress, result, error with its stack, history, and as a tree
    the workflow that it belongs to or the jobs that it has enqueued.

    \b
    penstock jobs show 0198c0de-0000-7000-8000-000000000000 --store sqlite:///jobs.db
    """
    with existing_store(store) as opened:
        print_job(opened, read_job(opened, job_id), as_json)


def print_job(store: Store, job: Job, as_json: bool) -> None:
    import msgspec

    history = store.read_history(job.id).wait()
    pauses = _holding(store, job)
    family = read_family(store, job)
    if as_json:
        paused = [{"kind": one.kind, "name": one.name, **pause_document(one)} for one in pauses]
        print_json({**msgspec.to_builtins(job), "paused": paused, "history": history, **family.document()})
    else:
        _print_fields(job, pauses, store)
        _print_long(job)
        family.show()
        _print_history(history)


def _holding(store: Store, job: Job) -> tuple[Pause, ...]:
    """The pauses that keep a waiting job from running."""
    from penstock.domain.flow.pauses import Pauses
    from penstock.domain.job import State

    waits = job.state in (State.PENDING, State.SCHEDULED, State.BLOCKED)
    return Pauses(store.list_pauses().wait()).holding(job) if waits else ()


def _print_fields(job: Job, pauses: tuple[Pause, ...], store: Store) -> None:
    from penstock.observe.words import paused_for

    names = [name for name in job.__struct_fields__ if name not in LONG]
    width = max(map(len, names)) + 2
    for name in names:
        say(f"{name:<{width}}{clean(_field(getattr(job, name)))}".rstrip())
    say(f"{'store':<{width}}{store.info.address}")
    if pauses:
        now = store.read_clock().wait()
        why = " and ".join(paused_for(pause, now) for pause in pauses)
        say("\n" + clean(one_line(f"it does not run because {why}")))


def _field(value: Any) -> str:
    import msgspec

    from penstock.domain.job import Progress
    from penstock.domain.options import Tenant

    match value:
        case Tenant():
            return value.org if value.workspace is None else f"{value.org}/{value.workspace}"
        case Progress():
            more = msgspec.json.encode(value.data).decode() if value.data else ""
            return one_line(" ".join(dict.fromkeys([said(value), more])))
        case _:
            return field(value)


def _print_long(job: Job) -> None:
    from penstock.domain.job import State

    say(f"\npayload\n{clean(_json(job.payload))}")
    if job.state is State.COMPLETED:
        say(f"\nresult\n{clean(_json(job.result))}")
    if job.error is not None:
        facts = [f"code {job.error.code}"] if job.error.code else []
        facts += ["transient"] if job.error.transient else []
        more = f" ({', '.join(facts)})" if facts else ""
        say(f"\nerror\n{clean(f'{job.error.type}: {job.error.message}{more}')}")
        if job.error.stack:
            say(clean(job.error.stack.rstrip()))


def _json(value: Any) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _print_history(history: list[Transition]) -> None:
    if not history:
        return
    made = table("at", "event", "try", "worker", "reason")
    for step in history:
        reason = step.reason or (f"{step.error.type}: {step.error.message}" if step.error else "")
        made.add_row(moment(step.at), step.event, str(step.attempt), step.worker_id or "", text(reason, 200))
    say("\nhistory")
    show(made)
