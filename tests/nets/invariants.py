"""What must hold after every interleaving: what `penstock doctor --deep` looks at, and what no operation may undo."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from penstock.domain.errors import PenstockError, WorkerInactive, WorkerRefused
from penstock.store import contract as p
from penstock.store.postgres.admin.check import INTEGRITY
from penstock.store.postgres.connection.statements import numbered, sql
from tests.nets.operations import Operation
from tests.nets.seen import CANCELLED, Seen
from tests.nets.stage import Stage
from tests.postgres.server import Server

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
LIMITS = {
    "more jobs hold a gate than may": """
        SELECT gate.name FROM penstock.gate JOIN penstock.hold USING (gate) JOIN penstock.lease USING (token)
        WHERE gate.period IS NULL GROUP BY gate.gate HAVING count(*) > gate.most
    """,
    "more jobs have passed a gate than may in its period": """
        SELECT gate.name FROM penstock.gate JOIN penstock.permit USING (gate)
        WHERE permit.at > {now} - gate.period GROUP BY gate.gate HAVING count(*) > gate.most
    """,
    "a job with a limit is under way and holds nothing": """
        SELECT lease.id::text FROM penstock.lease JOIN penstock.job USING (id)
        WHERE job.gates IS NOT NULL
            AND jsonb_array_length(job.gates::jsonb)
            <> (SELECT count(*) FROM penstock.hold WHERE hold.token = lease.token)
    """,
    "one that is not the first in its line is under way": """
        SELECT lease.id::text FROM penstock.lease JOIN penstock.ticket USING (id)
        JOIN penstock.ticket AS other ON other.name = ticket.name
            AND (other.due_at, other.number) < (ticket.due_at, ticket.number)
        WHERE NOT EXISTS (SELECT 1 FROM penstock.outcome WHERE outcome.id = other.id)
            AND EXISTS (SELECT 1 FROM penstock.job WHERE job.id = other.id)
    """,
    "the first in its line sleeps, and nobody holds its gate": """
        SELECT parked.id::text FROM penstock.parked JOIN penstock.gate USING (gate)
        JOIN penstock.ticket ON ticket.id = parked.id AND ticket.name = gate.name
        WHERE gate.ordered AND gate.wake_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM penstock.hold JOIN penstock.lease USING (token) WHERE hold.gate = gate.gate)
            AND NOT EXISTS (
                SELECT 1 FROM penstock.ticket AS other JOIN penstock.job ON job.id = other.id
                LEFT JOIN penstock.outcome ON outcome.id = other.id
                WHERE other.name = ticket.name AND outcome.id IS NULL
                    AND (other.due_at, other.number) < (ticket.due_at, ticket.number)
            )
    """,
    "a dead letter was retried twice": """
        SELECT retried_from::text FROM penstock.job WHERE retried_from IS NOT NULL
        GROUP BY retried_from HAVING count(*) > 1
    """,
    "two jobs with one unique key": """
        SELECT unique_key FROM penstock.job LEFT JOIN penstock.outcome USING (id)
        WHERE unique_key IS NOT NULL AND outcome.id IS NULL GROUP BY unique_key HAVING count(*) > 1
    """,
    "a page of figures counts twice": """
        SELECT type FROM penstock.figure WHERE span = 60 GROUP BY type HAVING sum(completed) > 1
    """,
    "a span of figures says something else than the others": """
        SELECT 'figure' FROM (
            SELECT span, sum(completed + dead + cancelled + expired) AS all_of_it FROM penstock.figure GROUP BY span
        ) AS one
        HAVING min(all_of_it) <> max(all_of_it) OR count(*) NOT IN (0, 3)
    """,
    "a schedule has fired another number of times than it says": """
        SELECT name FROM penstock.schedule
        WHERE fires <> (SELECT count(*) FROM penstock.job WHERE 'schedule:' || schedule.name = ANY (job.tags))
    """,
}
"""What nobody may ever see, in the words of the finding."""


@cache
def _limits() -> str:
    """All in one."""
    return " UNION ALL ".join(
        f"SELECT '{words}', one FROM ({query} LIMIT 1) AS found (one)" for words, query in LIMITS.items()
    )


TRANSITIONS = 9
"""Of `undone`, `answers`, `lost_or_strange` and `kept_words`."""
RULES = len(INTEGRITY) + len(LIMITS) + TRANSITIONS + 1
"""The last: what is left can be worked off."""


class Answered(Protocol):
    """How a call has ended."""

    answer: Any
    error: BaseException | None


class Killed(Exception):
    """What was under way ended with its process: nobody was told anything."""


@dataclass
class Case:
    """Two operations and what there was: `between` is when the second had ended, and the first was held."""

    one: Operation
    two: Operation
    known: set[str]
    ids: set[str]
    before: Seen
    first: Answered = None  # type: ignore[assignment]
    second: Answered = None  # type: ignore[assignment]
    between: Seen | None = None
    is_over: bool = False
    """Whether the first had stored all that it stores before the second began."""

    @property
    def both(self) -> list[tuple[Operation, Answered]]:
        return [(self.one, self.first), (self.two, self.second)]


@cache
def _integrity() -> list[tuple[str, bytes]]:
    return [(name, numbered(sql(name, "penstock")).text) for name in INTEGRITY]


class Judge(Protocol):
    """Looks at a store of some engine."""

    stage: Stage

    def look(self) -> Seen: ...
    def integrity(self) -> list[str]:
        """The list of `penstock doctor --deep`."""
        ...

    def limits(self, now: int) -> list[str]:
        """What nobody may ever see."""
        ...


class ServerJudge:
    """On PostgreSQL, with a connection of its own."""

    def __init__(self, server: Server, stage: Stage) -> None:
        self._connection = server.connect()
        self.stage = stage

    def close(self) -> None:
        self._connection.close()

    def look(self) -> Seen:
        return Seen.read(self._connection)

    def token(self) -> int:
        [(found,)] = self._connection.execute("SELECT last_value FROM penstock.token").fetchall()
        return int(found)

    def integrity(self) -> list[str]:
        return [
            f"doctor, {name}: {row}" for name, text in _integrity() for row in self._connection.execute(text).fetchall()
        ]

    def limits(self, now: int) -> list[str]:
        rows = self._connection.execute(_limits().replace("{now}", str(now)).encode()).fetchall()
        return [f"{words}: {example}" for words, example in rows]

    def fingerprint(self, known: set[str]) -> str:
        """All that is stored, without the names and numbers that are new each time."""
        rows: list[str] = [row for (row,) in self._connection.execute("SELECT * FROM net.rows()").fetchall()]
        named = [_UUID.sub(lambda found: found[0] if found[0] in known else "new", row) for row in rows]
        return hashlib.sha256("\n".join(sorted(named)).encode()).hexdigest()


def judge(eye: Judge, case: Case) -> list[str]:
    """What was found, by all rules."""
    after = eye.look()
    found = eye.integrity() + eye.limits(eye.stage.world.clock.now_us())
    moments = [case.before, *([case.between] if case.between else []), after]
    for earlier, later in itertools.pairwise(moments):
        found += undone(earlier, later)
    found += answers(case)
    found += lost_or_strange(case, after)
    found += kept_words(case, after, eye.stage)
    taken_over = case.between is not None and case.between.term > case.before.term
    if taken_over and case.one.is_fenced and case.first.error is None and not case.is_over:
        found.append(f"{case.one.name!r} was stored after the next leader had taken over")
    return found


def waits_long(case: Case, blocked: bool) -> list[str]:
    """Where only one can write at a time it has to; on a server it must not."""
    if blocked and case.one.is_long and case.two.never_waits:
        return [f"{case.two.name!r} waits for {case.one.name!r}, which may take long"]
    return []


def undone(earlier: Seen, later: Seen) -> Iterator[str]:
    """What no operation may take back once it is stored."""
    for id_, state in earlier.outcomes.items():
        if id_ in later.jobs and later.outcomes.get(id_) != state:
            yield f"an outcome was changed: {id_} from {state} to {later.outcomes.get(id_)}"
    for token, lease in earlier.leases.items():
        id_ = lease["id"]
        if lease["cancel"] and token not in later.leases and later.outcomes.get(id_) != CANCELLED:
            yield f"a cancel was forgotten: {id_}"
        if lease["begun"] and later.given_back.count(id_) > earlier.given_back.count(id_):
            yield f"given back although it had begun: {id_}"
    for token, lease in later.leases.items():
        if token in earlier.leases:
            continue
        if any(token <= other for other, one in earlier.leases.items() if one["id"] == lease["id"]):
            yield f"a token that is not larger than that of the lease before: {token}"
        if {f"queue {lease['queue']}", f"type {lease['type']}"} & earlier.pauses & later.pauses:
            yield f"a job was given out although its queue or type is paused: {lease['id']}"
    if later.token < earlier.token or later.term < earlier.term:
        yield "tokens or terms have gone back"


def answers(case: Case) -> Iterator[str]:
    """An operation answers, or refuses with an error that is one of its answers."""
    for operation, doing in case.both:
        if doing.error is not None and not isinstance(doing.error, (Killed, *operation.refused)):
            kind = "" if isinstance(doing.error, PenstockError) else "unexpected "
            yield f"{operation.name!r}: {kind}{type(doing.error).__name__}: {doing.error}"


def lost_or_strange(case: Case, after: Seen) -> Iterator[str]:
    """What was enqueued is there, unless it was removed by who may; and nothing else is."""
    removable = {id_ for operation, _ in case.both if operation.removes for id_ in case.before.outcomes}
    if any(operation.purges for operation, _ in case.both):
        removable |= case.before.jobs.keys()  # If it has ended meanwhile; otherwise its pointer would be left.
    if any(operation.removes_leased for operation, _ in case.both):
        removable |= {lease["id"] for lease in case.before.leases.values()}
    lost = case.before.jobs.keys() - after.jobs.keys() - removable
    if lost:
        yield f"{len(lost)} jobs are gone, such as {min(lost)}"
    strange = after.jobs.keys() - case.before.jobs.keys() - case.known - case.ids
    if strange:
        yield f"{len(strange)} jobs that nobody enqueued, such as {min(strange)}"
    for _, doing in case.both:
        for new in doing.answer if isinstance(doing.answer, list) else ():
            if isinstance(new, p.Enqueued) and new.created and new.id not in after.jobs:
                yield f"enqueued, and not there: {new.id}"


def kept_words(case: Case, after: Seen, stage: Stage) -> Iterator[str]:
    """What an operation has answered is so."""
    told = {claim.token for _, doing in case.both for claim in claims_of(doing.answer)}
    refused = any(
        isinstance(doing.error, WorkerRefused | Killed) and not isinstance(doing.error, WorkerInactive)
        for _, doing in case.both
    )  # What a lost worker took is recovered; but not from one that is only marked.
    for token in after.leases.keys() - case.before.leases.keys():
        if token not in told and not refused:
            yield f"a lease that nobody was told of: {token} of {after.leases[token]['id']}"
        if token <= case.before.token:
            yield f"a token that is not larger than all before: {token}"
    for operation, doing in case.both:
        if doing.error is None and operation.promise is not None:
            yield from (f"{operation.name!r} {broken}" for broken in operation.promise(doing.answer, stage, after))


def claims_of(answer: Any) -> list[p.Claim]:
    return [one for one in answer if isinstance(one, p.Claim)] if isinstance(answer, list) else []
