"""`penstock worker`: runs workers of an App until they are stopped."""

from __future__ import annotations

from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.flags import Burst, Reload, WorkerFlags
from penstock.cli.input.options import ConfigFile, Target
from penstock.cli.running.guard import guarded


@guarded
@with_flags
def worker(
    target: Target,
    *,
    flags: WorkerFlags,
    config: ConfigFile = None,
    burst: Burst = False,
    reload: Reload = False,
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
    from penstock.cli.running.run import run

    run("worker", target, flags.given(), config=config, burst=burst, reload=reload)
