"""What people have done, as it is kept."""

from __future__ import annotations

from typing import Any

from penstock.store.sql.steps import Steps, as_json, run


def audit(actor: str, action: str, detail: Any) -> Steps[None]:
    yield from run("audit", actor=actor, action=action, detail=as_json(detail))
