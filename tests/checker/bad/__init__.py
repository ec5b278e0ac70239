"""Histories in which one promise is broken, as small as they can be. Every rule has at least one of its own."""

from __future__ import annotations

from tests.checker.bad import attempts, jobs, limits, workflows
from tests.checker.bad.register import BAD, Bad

__all__ = ["BAD", "Bad", "attempts", "jobs", "limits", "workflows"]
