"""Help for testing your own jobs: a throw-away store, fake time, and assertions about what was enqueued.

The public names, nothing else. Each is imported when it is first used, so that the pytest plugin costs nothing
in runs that do not use it. Needs no test framework.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.testing.blocks import inline, sandbox
    from penstock.testing.clock import FakeClock
    from penstock.testing.jobs import Sandbox
    from penstock.testing.record import EnqueuedJob
    from penstock.testing.runs import EndlessRun, Summary

_HOME = {
    "EndlessRun": "runs",
    "EnqueuedJob": "record",
    "FakeClock": "clock",
    "Sandbox": "jobs",
    "Summary": "runs",
    "inline": "blocks",
    "sandbox": "blocks",
}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _HOME:
            raise AttributeError(f"module 'penstock.testing' has no attribute {name!r}")
        return getattr(import_module(f"penstock.testing.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = ["EndlessRun", "EnqueuedJob", "FakeClock", "Sandbox", "Summary", "inline", "sandbox"]
