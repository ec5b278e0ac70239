"""A disk that is full for a while."""

from __future__ import annotations

from tests.chaos.actors import Broken
from tests.chaos.catalogue import fault
from tests.chaos.settle import settle
from tests.chaos.stage import Stage


@fault(row=15, engines=("sqlite",))
def disk_full(stage: Stage) -> None:
    """Nothing can be written for a while: the processes say so, keep what they have, and go on when there is room."""
    full = stage.folder / "full"

    def harm() -> None:
        full.touch()
        stage.wait(stage.dice.uniform(0.1, 0.5))
        full.unlink()

    stage.healing.append(lambda: full.unlink(missing_ok=True))
    stage.begin(full=str(full))
    stage.while_loading(0.2, 0.6, harm)
    settle(stage)
    if not any(actor.said("free space") for actor in stage.actors if actor.kind == "worker"):
        raise Broken("no worker said that the disk was full")
