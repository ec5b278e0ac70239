"""Several worker processes under one supervisor: started, replaced when they die, stopped in order, reloaded."""

from __future__ import annotations

from penstock.observe.metrics.catalogue import PREFIX
from penstock.worker.liveness.health_address import ANYWHERE, OFF, of_process


def supervise(
    command: list[str],
    *,
    processes: int,
    shutdown_timeout: float,
    burst: bool = False,
    reload: bool = False,
    worker_id: str | None = None,
    health: str = ANYWHERE,
    metrics: str = OFF,
    metrics_prefix: str = PREFIX,
) -> int:
    """Run `command`, the argv of one worker, in this many processes until they are stopped; the exit code.

    `metrics` is where those of all processes are served as one.
    """
    from contextlib import ExitStack

    from penstock.supervisor.changes import watched_code
    from penstock.supervisor.launch import Launcher
    from penstock.supervisor.process_metrics import shown_together
    from penstock.supervisor.supervisor import Supervisor
    from penstock.supervisor.wakeup import Wakeup

    of_process(health, processes)  # An error now if there is no port for the last of them.
    # Python takes a cached module for the newest when the file was changed within the same second: cache none.
    environment = {"PYTHONDONTWRITEBYTECODE": "1"} if reload else {}
    with ExitStack() as ending:
        shown = ending.enter_context(shown_together(metrics, metrics_prefix, processes)) if metrics != OFF else None
        wakeup = ending.enter_context(Wakeup())
        launcher = ending.enter_context(Launcher(command, worker_id, environment, health, shown))
        if reload:
            ending.enter_context(watched_code(wakeup))
        return Supervisor(
            launcher, wakeup, processes=processes, shutdown_timeout=shutdown_timeout, burst=burst, reload=reload
        ).run()
