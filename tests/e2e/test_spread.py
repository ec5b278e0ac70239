"""Several processes spread the same work in the same moment: it is enqueued once."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import App, State
from tests.e2e.processes import Processes, counts

pytestmark = pytest.mark.turns

RIVALS = 4
ITEMS = 200

SPREAD = """
@app.job
async def resync(store_id: int) -> None: ...

calls = [resync.bind(number) for number in range(settings["items"])]
start = penstock.domain.clock.from_us(settings["start_us"])
app.store.read_clock().wait()
say("ready")
while not os.path.exists(settings["gate"]):
    time.sleep(0.001)
say("enqueued", app.spread("resync", calls, batches=6, mode="each", start=start))
app.close()
"""


def test_rivals_enqueue_it_once(app: App, processes: Processes, gate: str) -> None:
    start_us = app.store.read_clock().wait() + 3600 * 1_000_000  # One moment for all: midnight may come between them.
    rivals = [processes.script(SPREAD, items=ITEMS, gate=gate, start_us=start_us) for _ in range(RIVALS)]
    for rival in rivals:
        rival.wait_for("ready")
    Path(gate).touch()
    assert [rival.wait() for rival in rivals] == [0] * RIVALS
    told = sorted(int(line.split()[-1]) for rival in rivals for line in rival.printed("enqueued"))
    assert told == [0] * (RIVALS - 1) + [6 * ITEMS]
    assert counts(app) == {State.SCHEDULED: 6 * ITEMS}
