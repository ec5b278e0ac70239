"""The scenes of the tour: what one sees, the jobs that are enqueued, and what the store says afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.cli.demo import shop
from penstock.cli.demo.events import about, word
from penstock.client.client import JobCall
from penstock.domain.errors import ConfigError
from penstock.domain.job import Job, State
from penstock.domain.options import Unique

CUSTOMERS = ("ada", "grace", "linus", "margaret", "edsger", "barbara")
PICTURES = (("lamp.png", 1.6), ("desk.png", 2.2), ("chair.png", 2.8))
TEXTS = ("a lamp", "a desk", "a chair", "", "a shelf", "a bed", "a sofa", "a rug", "a vase", "a clock", "a mirror")

Say = Callable[[Sequence[Job]], str]


@dataclass(frozen=True)
class Scene:
    """`says` tells beforehand what one will see; `shows` tells afterwards what the store has."""

    name: str
    title: str
    says: str
    shows: Say
    calls: list[JobCall[Any]] = field(default_factory=list)
    kills: bool = False
    """Whether the worker of its first job is killed."""


def chosen(names: Sequence[str] | None) -> list[Scene]:
    """All scenes, or those with these names, in the order of the tour."""
    scenes = [mail(), pictures(), runaway(), batches(), later(), hopeless(), killed()]
    known = [scene.name for scene in scenes]
    for name in names or ():
        if name not in known:
            raise ConfigError(f"there is no scene {name!r}; the scenes are: {', '.join(known)}")
    return [scene for scene in scenes if not names or scene.name in names]


def mail() -> Scene:
    calls: list[JobCall[Any]] = [shop.send_email.using(tags=["mail"]).bind(name) for name in CUSTOMERS]
    return Scene(
        "mail", "Retries",
        "Six mails leave at the same time. Two servers hang up; those mails are tried again by themselves.",
        lambda jobs: f"{_ended(jobs)} sent, {_again(jobs)} of them at a second attempt",
        calls,
    )  # fmt: skip


def pictures() -> Scene:
    resize = shop.resize_image.using(tags=["pictures"])
    return Scene(
        "pictures", "Progress",
        "Plain functions run in threads. Each says how far it is, and anybody can see it.",
        lambda jobs: f"{_ended(jobs)} pictures resized side by side",
        [resize.bind(name, seconds) for name, seconds in PICTURES],
    )  # fmt: skip


def runaway() -> Scene:
    return Scene(
        "runaway", "A runaway computation",
        "This job runs in a process of its own and never ends. At its timeout of 1.5 s the process is killed; "
        "the next attempt succeeds.",
        lambda jobs: "; ".join(f"{job.state} at attempt {job.attempt}: {word(job)}" for job in jobs),
        [shop.monthly_report.using(tags=["runaway"]).bind("November")],
    )  # fmt: skip


def batches() -> Scene:
    embed = shop.embed.using(tags=["batches"])
    return Scene(
        "batches", "Batches",
        "Eleven texts, up to five in one call of the handler. One is empty, and fails alone.",
        lambda jobs: f"{_ended(jobs)} embedded; {len(_dead(jobs))} dead: {_errors(jobs)}",
        [embed.bind(shop.Text(text)) for text in TEXTS],
    )  # fmt: skip


def later() -> Scene:
    once = Unique("welcome:ada", per="1h")
    return Scene(
        "later", "Later, and only once",
        "A reminder is due in two seconds. A welcome is enqueued three times under one key.",
        lambda jobs: f"{len(_of(jobs, 'welcome'))} welcome was stored; the reminder came "
        f"{_waited(_of(jobs, 'send_reminder')):.1f} s after its enqueue",
        [
            shop.send_reminder.using(tags=["later"], delay="2s").bind("grace"),
            *(shop.welcome.using(tags=["later"], unique=once).bind("ada") for _ in range(3)),
        ],
    )  # fmt: skip


def hopeless() -> Scene:
    return Scene(
        "hopeless", "Dead letters",
        "A stolen card is not tried again; a silent partner is tried three times. Both are kept, with the reason.",
        lambda jobs: "; ".join(f"{job.type} after attempt {job.attempt}: {job.reason}" for job in _dead(jobs)),
        [
            shop.charge_card.using(tags=["hopeless"]).bind("mallory"),
            shop.sync_orders.using(tags=["hopeless"]).bind("the warehouse"),
        ],
    )  # fmt: skip


def killed() -> Scene:
    pack = shop.pack_order.using(tags=["killed"])
    return Scene(
        "killed", "A worker is killed",
        "Two more workers, in processes of their own, pack an order each. One of them is killed with kill -9.",
        lambda jobs: "; ".join(
            f"{about(job)}: {job.state} by {job.worker_id} at attempt {job.attempt}, workers lost: {job.crashes}"
            for job in jobs
        ),
        [pack.bind("order 1001"), pack.bind("order 1002")],
        kills=True,
    )  # fmt: skip


def _of(jobs: Sequence[Job], type_: str) -> list[Job]:
    return [job for job in jobs if job.type == type_]


def _ended(jobs: Sequence[Job]) -> int:
    return sum(job.state is State.COMPLETED for job in jobs)


def _again(jobs: Sequence[Job]) -> int:
    return sum(job.state is State.COMPLETED and job.attempt > 1 for job in jobs)


def _dead(jobs: Sequence[Job]) -> list[Job]:
    return [job for job in jobs if job.state is State.DEAD]


def _errors(jobs: Sequence[Job]) -> str:
    return ", ".join(job.error.message for job in _dead(jobs) if job.error)


def _waited(jobs: Sequence[Job]) -> float:
    return max(((job.claimed_at or job.created_at) - job.created_at).total_seconds() for job in jobs)
