"""Alerts of real workers, as a receiver gets them: also when the leader is killed, and another takes over."""

from __future__ import annotations

import json

from penstock import App
from tests.e2e.processes import until
from tests.e2e.supervised import Supervised
from tests.outbound.receiver import Receiver, answer, receiver, sent_headers

HANDLERS = """
@app.job
async def boom() -> None:
    raise ValueError("no way")
"""

CONFIG = """
[coordinator]
lease = "1s"
[alerts]
sinks = ["log", {{ webhook = "{hook}" }}]
heartbeat_url = "{watcher}"
interval = "100ms"
"""


def looked(watcher: Receiver, times: int) -> None:
    """The rules were looked at so often from now on."""
    wanted = watcher.connections + times
    until(lambda: watcher.connections >= wanted, "the leader looks for what is wrong")


def test_a_final_failure_reaches_a_receiver_once_whoever_leads(app: App, supervised: Supervised) -> None:
    job = app.enqueue("boom", attempts=1)
    with receiver(answer(200)) as hook, receiver(answer(200)) as watcher:
        (supervised.folder / "penstock.toml").write_text(CONFIG.format(hook=hook.url, watcher=watcher.url))
        workers = supervised.start(HANDLERS, "--shutdown-timeout", "1s", "--heartbeat-interval", "1s")
        until(lambda: hook.requests, "the alert arrives")
        looked(watcher, 3)
        workers.kill()
        supervised.end()
        supervised.start(HANDLERS, "--heartbeat-interval", "1s")
        looked(watcher, 5)
        supervised.end()
        [got] = hook.requests
    told = json.loads(got.partition(b"\r\n\r\n")[2])["data"]
    assert (told["rule"], told["scope"], told["severity"]) == ("final_failure", "boom", "warning")
    assert told["tags"] == {"type": "boom", "job_id": job.id}
    assert "ValueError: no way" in told["message"]
    assert sent_headers(got)["webhook-id"] == f"{told['key']}-firing"
