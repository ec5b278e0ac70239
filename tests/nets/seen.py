"""What there is in a store at a moment, read by one statement, and with it what operations promise can be judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

COMPLETED, DEAD, CANCELLED, EXPIRED = 1, 2, 3, 4

LOOK = """
SELECT jsonb_build_object(
    'jobs', (SELECT coalesce(jsonb_object_agg(id, attempt), '{}') FROM penstock.job),
    'outcomes', (SELECT coalesce(jsonb_object_agg(id, state), '{}') FROM penstock.outcome),
    'leases', (SELECT coalesce(jsonb_object_agg(token, jsonb_build_object(
        'id', lease.id, 'begun', started_at IS NOT NULL, 'cancel', cancel, 'session', session,
        'type', lane.type, 'queue', lane.queue
    )), '{}') FROM penstock.lease JOIN penstock.job USING (id) JOIN penstock.lane USING (lane)),
    'waiting', (SELECT coalesce(jsonb_agg(id), '[]') FROM
        (SELECT id FROM penstock.waiting UNION ALL SELECT id FROM penstock.parked) AS any_place),
    'pauses', (SELECT coalesce(jsonb_agg(kind || ' ' || name), '[]') FROM penstock.pause),
    'given_back', (SELECT coalesce(jsonb_agg(id), '[]') FROM penstock.history WHERE event = 'give_back'),
    'running', (SELECT count(*) FROM penstock.workflow WHERE state = 0),
    'token', (SELECT last_value FROM penstock.token),
    'term', (SELECT coalesce(max(term), 0) FROM penstock.leader)
)
"""


@dataclass
class Seen:
    """Jobs with their attempts, outcomes by job, leases by token, jobs that wait or are parked, and the rest."""

    jobs: dict[str, int]
    outcomes: dict[str, int]
    leases: dict[int, dict[str, Any]]
    waiting: list[str]
    pauses: set[str]
    given_back: list[str]
    running: int
    token: int
    term: int

    @classmethod
    def read(cls, connection: Any) -> Seen:
        [(found,)] = connection.execute(LOOK).fetchall()
        leases = {int(token): lease for token, lease in found.pop("leases").items()}
        return cls(leases=leases, pauses=set(found.pop("pauses")), **found)
