"""Who may do what one worker does for all: the leader of now, and people."""

from __future__ import annotations

from penstock.domain.errors import NotLeader
from penstock.store.sql.steps import Steps, value


def check_term(term: int | None) -> Steps[None]:
    """Refuse what a leader of the past still wants to do. A person has no term."""
    if term is not None and not (yield from value("check_term", term=term)):
        raise NotLeader(f"term {term} is over: another worker leads by now")
