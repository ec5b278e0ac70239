"""Every kind of handler works in a sandbox: in processes, in batches, as classes, and all of them together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import App, Context, DoNotRetry, Failed, Handler, JobFailed
from penstock.testing import Sandbox, Summary, sandbox
from tests.testing import apart


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    monkeypatch.chdir(tmp_path)
    with sandbox(apart.app) as made:
        yield made
    assert list(tmp_path.iterdir()) == [], "a child process touched the app's own store"


def test_a_process_handler_with_a_retry_and_a_follow_up(jobs: Sandbox) -> None:
    job = apart.where.enqueue(fail_first=True)
    assert jobs.run() == Summary(completed=2, retries=1)
    assert job.result() not in (0, os.getpid())
    progress = job.read().progress
    assert progress is not None
    assert progress.phase == "half"
    assert jobs.assert_enqueued(apart.note, text="done", delay="1h").result() == "done"


def test_a_process_handler_cannot_touch_the_real_store(jobs: Sandbox) -> None:
    apart.enqueue_directly.enqueue()
    with pytest.raises(JobFailed, match=r"enqueue follow-ups with ctx\.enqueue"):
        jobs.run()
    jobs.assert_not_enqueued(apart.note)


def test_a_process_handler_is_killed_at_its_timeout(jobs: Sandbox) -> None:
    apart.hang.enqueue()
    with pytest.raises(JobFailed, match="TimeoutError"):
        jobs.run()


def test_a_process_job_that_appears_during_the_run(jobs: Sandbox) -> None:
    apart.start_process.enqueue()
    assert jobs.run() == Summary(completed=3)


def test_inline(jobs: Sandbox) -> None:
    with jobs.inline():
        assert apart.where.enqueue().result(timeout=0) != os.getpid()


@dataclass
class Text:
    text: str


def test_a_batch_handler_gets_its_batch(app: App) -> None:
    sizes: list[int] = []

    @app.batch_job(size=3, wait="50ms", attempts=2)
    async def embed(items: list[Text]) -> list[int | Failed]:
        sizes.append(len(items))
        return [Failed(DoNotRetry("empty")) if not item.text else len(item.text) for item in items]

    with sandbox(app) as jobs:
        good = embed.enqueue(Text("hello"))
        bad = embed.enqueue(Text(""))
        for text in ("a", "b", "c"):
            embed.enqueue(Text(text))
        jobs.assert_enqueued(embed, text="hello", count=1)
        assert jobs.run(strict=False) == Summary(completed=4, dead=1)
        assert good.result() == 5
        with pytest.raises(JobFailed, match="empty"):
            bad.result()
    assert sizes == [3, 2]


def test_a_handler_class_with_hooks(app: App) -> None:
    calls: list[str] = []

    class Consolidate(Handler[Text, int]):
        async def process(self, ctx: Context, data: Text) -> int:
            if ctx.attempt == 1:
                raise ConnectionError("not yet")
            return len(data.text)

        async def on_failed(self, ctx: Context, error: BaseException) -> None:
            calls.append(f"failed at {ctx.attempt}: {error}")

        async def on_complete(self, ctx: Context, result: Any) -> None:
            calls.append(f"complete: {result}")

    consolidate = app.register(Consolidate(), name="consolidate")
    with sandbox(app) as jobs:
        consolidate.enqueue(Text("hello"))
        jobs.assert_enqueued("consolidate", text="hello")
        assert jobs.run() == Summary(completed=1, retries=1)
    assert calls == ["failed at 1: not yet", "complete: 5"]


def test_lines_of_work_wait_for_each_other_before_time_moves_on(app: App) -> None:
    seen: list[str] = []

    @app.batch_job(size=2, wait="50ms")
    async def together(items: list[Text]) -> list[int | Failed]:
        seen.extend(item.text for item in items)
        return [1 for _ in items]

    @app.job
    def alone(text: str) -> None:
        seen.append(text)

    with sandbox(app) as jobs:
        alone.using(delay="2h").enqueue("two hours")
        together.using(delay="1h").enqueue(Text("one hour"))
        together.using(delay="3h").enqueue(Text("three hours"))
        alone.using(delay="4h").enqueue("four hours")
        together.enqueue(Text("now"))
        assert jobs.run() == Summary(completed=5)
    assert seen == ["now", "one hour", "two hours", "three hours", "four hours"]
