"""Logs of real workers as a program reads them: every line of stdout is an object, with the story of each job."""

from __future__ import annotations

import json

import pytest

from penstock import App, Fixed, Tenant
from tests.e2e.supervised import Supervised

pytestmark = pytest.mark.turns

HANDLERS = """
@app.job
def greet(ctx: Context, name: str) -> str:
    ctx.logger.info("half\\nway", extra={"step": 1, "odd": object()})
    return f"hello {name}"


@app.job
async def boom() -> None:
    raise ValueError("no\\nway")
"""

FLAGS = ("--burst", "--log-format", "json", "--log-level", "debug")


def test_every_line_is_an_object_and_the_story_of_each_job_is_told(app: App, supervised: Supervised) -> None:
    greet = app.enqueue("greet", {"name": "ada"}, queue="mail", tenant=Tenant("acme", "eu"), tags=["a", "b"])
    boom = app.enqueue("boom", attempts=2, backoff=Fixed(0))
    workers = supervised.start(HANDLERS, *FLAGS, "--processes", "2")
    assert workers.wait() == 0, workers.output
    lines = [json.loads(line) for line in workers.lines]
    assert {"time", "level", "logger", "message"} <= set.intersection(*map(set, lines))
    story = [line for line in lines if line.get("job_id") == greet.id]
    assert [(line.get("event"), line["level"]) for line in story] == [
        ("job.claimed", "debug"),
        ("job.started", "info"),
        (None, "info"),
        ("job.completed", "info"),
    ]
    said, completed = story[2], story[3]
    assert (said["message"], said["step"], said["type"], said["attempt"]) == ("half\nway", 1, "greet", 1)
    assert said["odd"].startswith("<object object")
    for line in story:
        assert (line["queue"], line["attempt"]) == ("mail", 1)
        assert (line["tenant"], line["workspace"], line["tags"]) == ("acme", "eu", ["a", "b"])
    assert completed["duration_ms"] >= 0
    started = {line["worker_id"] for line in lines if line.get("event") == "worker.started"}
    assert completed["worker_id"] in started
    failures = [line for line in lines if line.get("job_id") == boom.id and line["level"] == "error"]
    assert not {"tenant", "workspace", "tags"} & set.union(*map(set, failures))
    assert [(line["event"], line["error"]) for line in failures] == [
        ("job.failed", {"type": "ValueError", "message": "no\nway"}),
        ("job.dead", {"type": "ValueError", "message": "no\nway"}),
    ]
    assert failures[0]["next_try_in"] == 0
    assert failures[1]["reason"] == "all 2 attempts used"
    events = [line.get("event") for line in lines]
    assert [events.count(event) for event in ("process.started", "worker.started", "worker.stopped")] == [2, 2, 2]
