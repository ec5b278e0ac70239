"""How workflows are stored: their states by number, and what of them is JSON."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from penstock.domain.flow.gates import Gate
from penstock.domain.workflows import WorkflowState
from penstock.store import contract as p

STATES = (WorkflowState.RUNNING, WorkflowState.COMPLETED, WorkflowState.FAILED, WorkflowState.CANCELLED)
"""By their numbers in the store."""

decode_specs = msgspec.json.Decoder(list[p.JobSpec]).decode
decode_gates = msgspec.json.Decoder(tuple[Gate, ...]).decode
decode_job = msgspec.json.Decoder(p.NewJob).decode


class Ended(NamedTuple):
    """A job of a workflow that has ended, and how."""

    id: str
    state: int
    result: str | None = None
