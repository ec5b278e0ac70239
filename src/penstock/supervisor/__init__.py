"""Several worker processes under one supervisor: started, replaced when they die, stopped in order, reloaded."""

from __future__ import annotations

from penstock.worker.liveness.health_address import ANYWHERE, of_process


def supervise(
    command: list[str],
    *,
    processes: int,
    shutdown_timeout: float,
    burst: bool = False,
    reload: bool = False,
    worker_id: str | None = None,
    health: str = ANYWHERE,
) -> int:
    """Run `command`, the argv of one worker, in this many processes until they are stopped; the exit code."""
    from contextlib import nullcontext

    from penstock.supervisor.changes import watched_code
    from penstock.supervisor.launch import Launcher
    from penstock.supervisor.supervisor import Supervisor
    from penstock.supervisor.wakeup import Wakeup

    of_process(health, processes)  # An error now if there is no port for the last of them.
    # Python takes a cached module for the newest when the file was changed within the same second: cache none.
    environment = {"PYTHONDONTWRITEBYTECODE": "1"} if reload else {}
    with (
        Wakeup() as wakeup,
        Launcher(command, worker_id, environment, health) as launcher,
        watched_code(wakeup) if reload else nullcontext(),
    ):
        return Supervisor(
            launcher, wakeup, processes=processes, shutdown_timeout=shutdown_timeout, burst=burst, reload=reload
        ).run()
