"""`penstock start`: everything that one machine needs, in one process."""

from __future__ import annotations

from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.flags import Burst, Reload, StartFlags
from penstock.cli.input.options import ConfigFile, Target
from penstock.cli.running.guard import guarded


@guarded
@with_flags
def start(
    target: Target,
    *,
    flags: StartFlags,
    config: ConfigFile = None,
    burst: Burst = False,
    reload: Reload = False,
) -> None:
    """Run all that exists in one process: a worker, which also recovers lost jobs and removes old ones.

    Everything else that a worker can be told is taken from the environment or from penstock.toml: see penstock config.

    \b
    penstock start tasks:app
    penstock start tasks:app --log-format json
    """  # fmt: skip
    from penstock.cli.running.run import run

    run("start", target, flags.given(), config=config, burst=burst, reload=reload)
