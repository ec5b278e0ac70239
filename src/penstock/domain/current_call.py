"""The job whose handler is being run here: known to everything below the handler, in whatever layer that is."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

from penstock.domain.options import Tenant


class CurrentCall(Protocol):
    """One call of a handler, as lower layers see it."""

    @property
    def over(self) -> bool:
        """Whether its outcome is decided: then it holds no slot any more, and what still runs of it is on its own."""
        ...

    @property
    def tenant(self) -> Tenant | None:
        """Whose job it is; None too for a call that carries several jobs."""
        ...


running: ContextVar[CurrentCall] = ContextVar("penstock_run")


def current_call() -> CurrentCall | None:
    """The call that the caller is a part of, while that is under way."""
    found = running.get(None)
    return None if found is None or found.over else found
