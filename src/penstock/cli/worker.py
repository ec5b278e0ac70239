"""`penstock worker`: runs workers of an App until they are stopped."""

from __future__ import annotations

from penstock.cli import flags
from penstock.cli.guard import guarded
from penstock.cli.options import ConfigFile, Target


@guarded
def worker(
    target: Target,
    concurrency: flags.Slots = None,
    processes: flags.Processes = None,
    types: flags.Types = None,
    queues: flags.Queues = None,
    capabilities: flags.Capabilities = None,
    cpu: flags.Cpu = None,
    memory: flags.Memory = None,
    gpu: flags.Gpu = None,
    worker_id: flags.WorkerId = None,
    process_slots: flags.ProcessSlots = None,
    job_timeout: flags.JobTimeout = None,
    max_jobs: flags.MaxJobs = None,
    max_memory: flags.MaxMemory = None,
    poll_interval: flags.PollInterval = None,
    heartbeat_interval: flags.HeartbeatInterval = None,
    shutdown_timeout: flags.ShutdownTimeout = None,
    health: flags.Health = None,
    log_format: flags.LogFormat = None,
    log_level: flags.LogLevel = None,
    config: ConfigFile = None,
    burst: flags.Burst = False,
    reload: flags.Reload = False,
) -> None:
    """Run a worker until Ctrl-C or SIGTERM. A second signal stops at once; its jobs go back.

    What is not given here is taken from the environment or from penstock.toml: see penstock config.

    \b
    penstock worker tasks:app
    penstock worker tasks:app --concurrency 10 --queues mail,reports
    penstock worker tasks:app --processes 4 --max-memory 1Gi --log-format json
    penstock worker tasks:app --burst
    penstock worker tasks:app --reload
    """
    from penstock.cli.run import run

    given = {
        "worker.concurrency": concurrency,
        "worker.processes": processes,
        "worker.types": types,
        "worker.queues": queues,
        "worker.capabilities": capabilities,
        "worker.resources.cpu": cpu,
        "worker.resources.memory": memory,
        "worker.resources.gpu": gpu,
        "worker.id": worker_id,
        "worker.process_slots": process_slots,
        "worker.job_timeout": job_timeout,
        "worker.max_jobs": max_jobs,
        "worker.max_memory": max_memory,
        "worker.poll_interval": poll_interval,
        "worker.heartbeat_interval": heartbeat_interval,
        "worker.shutdown_timeout": shutdown_timeout,
        "worker.health": health,
        "log.format": log_format,
        "log.level": log_level,
    }
    run("worker", target, given, config=config, burst=burst, reload=reload)
