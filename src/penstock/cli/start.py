"""`penstock start`: everything that one machine needs, in one process."""

from __future__ import annotations

from penstock.cli import flags
from penstock.cli.guard import guarded
from penstock.cli.options import ConfigFile, Target


@guarded
def start(
    target: Target,
    concurrency: flags.Slots = None,
    process_slots: flags.ProcessSlots = None,
    worker_id: flags.WorkerId = None,
    job_timeout: flags.JobTimeout = None,
    shutdown_timeout: flags.ShutdownTimeout = None,
    health: flags.Health = None,
    log_format: flags.LogFormat = None,
    log_level: flags.LogLevel = None,
    config: ConfigFile = None,
    burst: flags.Burst = False,
    reload: flags.Reload = False,
) -> None:
    """Run all that exists in one process: a worker, which also recovers lost jobs and removes old ones.

    Everything else that a worker can be told is taken from the environment or from penstock.toml: see penstock config.

    \b
    penstock start tasks:app
    penstock start tasks:app --log-format json
    """  # fmt: skip
    from penstock.cli.run import run

    given = {
        "worker.concurrency": concurrency,
        "worker.process_slots": process_slots,
        "worker.id": worker_id,
        "worker.job_timeout": job_timeout,
        "worker.shutdown_timeout": shutdown_timeout,
        "worker.health": health,
        "log.format": log_format,
        "log.level": log_level,
    }
    run("start", target, given, config=config, burst=burst, reload=reload)
