"""The store of an app that must not use its own: every use is an error that says why."""

from __future__ import annotations

from typing import NoReturn

from penstock.domain.errors import UsageError


class RefusedStore:
    """Stands where a store would be."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> NoReturn:
        raise UsageError(self._reason)
