"""What a process of penstock ends with."""

from __future__ import annotations

FAILED, WRONG_USE, RECYCLED, INTERRUPTED = 1, 2, 75, 130
