"""Safeguards that can be taken away: without any of them, some interleaving must find what it protects from.

Each puts other words into a statement, or a function of the store, for the length of a block, or forgets what a claim
remembers. `caught_by` is a pair that finds it, and `where` a word of the holds that do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from unittest import mock

from penstock.store.postgres import engine
from penstock.store.postgres.connection import database, statements
from penstock.store.postgres.hot.seen import Seen
from tests.nets.interleavings import Net, Verdict

Ablation = Callable[[Net], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Safeguard:
    name: str
    without: Ablation
    caught_by: tuple[str, str]
    where: str


def replaced(*changes: tuple[str, str, str]) -> Ablation:
    """Statements by name, with these words instead of those."""

    def sql(name: str, schema: str) -> str:
        text = statements.sql(name, schema)
        for changed, words, instead in changes:
            if statements.PARTS.get(name, (name,))[0] == changed:
                assert words in text or changed != name, f"{changed}: the words are not there: {words}"
                text = text.replace(words, instead)
        return text

    @contextmanager
    def block(net: Net) -> Iterator[None]:
        with mock.patch.object(database, "sql", sql), mock.patch.object(engine, "sql", sql):
            yield

    return block


def redefined(function: str, words: str, instead: str) -> Ablation:
    """A function of the store, with these words instead of those."""

    @contextmanager
    def block(net: Net) -> Iterator[None]:
        found = net.connection.execute("SELECT pg_get_functiondef(%s::regproc)", [f"penstock.{function}"])
        [(text,)] = found.fetchall()
        assert words in text, f"{function}: the words are not there: {words}"
        net.connection.execute(text.replace(words, instead).encode())
        try:
            yield
        finally:
            net.connection.execute(text.encode())

    return block


@contextmanager
def judged_by_each_statement(net: Net) -> Iterator[None]:
    """Whether it is the first of a claim or not."""
    never = property(lambda seen: False, lambda seen, value: None)
    with mock.patch.object(Seen, "judged", never, create=True):
        yield


RAISED_BY_UPDATE = (
    (
        "raise_jobs",
        "DELETE FROM penstock.waiting USING locked\n",
        "UPDATE penstock.waiting SET lane = locked.higher, xid = pg_current_xact_id() FROM locked\n",
    ),
    ("raise_jobs", "RETURNING locked.higher AS lane", "RETURNING waiting.lane"),
    ("raise_jobs", "FROM moved\n)", "FROM moved WHERE false\n)"),
    ("aged_jobs", "AND (waiting.expires_at IS NULL OR waiting.expires_at > moment.us)", ""),
)
"""Rows of waiting are updated, overdue ones too: whoever has chosen one locks it where it is now, and cannot see it."""
ENDS_WHAT_WAS_CHOSEN = (
    ("expire_jobs", "SELECT ctid AS at FROM penstock.waiting", "SELECT ctid AS at, id FROM penstock.waiting"),
    ("expire_jobs", "SELECT id FROM unlined UNION ALL", "SELECT id FROM overdue UNION ALL"),
)

BY_PLACE = (
    ("complete_jobs", "SELECT id, attempt, session", "SELECT ctid AS at, id, attempt, session"),
    ("complete_jobs", "row.token, row.started_at", "lease.at, row.token, row.started_at"),
    (
        "complete_jobs",
        "WHERE token = ANY (ARRAY (SELECT token FROM done))",
        "WHERE ctid = ANY (ARRAY (SELECT at FROM done))",
    ),
)

SAFEGUARDS: dict[str, Safeguard] = {
    one.name: one
    for one in (
        Safeguard(
            "what was really deleted is what expires",
            replaced(*RAISED_BY_UPDATE, *ENDS_WHAT_WAS_CHOSEN),
            ("expire", "age"),
            "before delete waiting",
        ),
        Safeguard(
            "a start waits for nobody",
            replaced(("start_jobs", "FOR UPDATE OF lease SKIP LOCKED", "FOR UPDATE OF lease")),
            ("complete in a transaction", "start"),
            "COMMIT",
        ),
        Safeguard(
            "progress waits for nobody",
            replaced(("save_progress", "FOR UPDATE OF lease SKIP LOCKED", "FOR UPDATE OF lease")),
            ("complete in a transaction", "progress"),
            "COMMIT",
        ),
        Safeguard(
            "what has begun is not given back",
            replaced(("unstarted_leases", "FOR UPDATE OF lease SKIP LOCKED", "")),
            ("give back", "start"),
            "look at lease",
        ),
        Safeguard("a lease is deleted by its token", replaced(*BY_PLACE), ("complete", "start"), "look at lease"),
        Safeguard(
            "a pause waits for claims, and they for it",
            replaced(
                ("claim_jobs", "WHERE false FOR KEY SHARE", "WHERE false"),
                ("lock_pauses", "LOCK TABLE penstock.pause IN EXCLUSIVE MODE", "SELECT 1"),
            ),
            ("claim, knowing the lanes", "pause the queue"),
            "order_number",
        ),
        Safeguard(
            "the revision of a schedule",
            replaced(("update_schedules", "AND schedule.revision = new.revision", "")),
            ("fire a schedule", "edit a schedule"),
            "UPDATE penstock.schedule",
        ),
        Safeguard(
            "a cancel in the midst of a claim is kept",
            replaced(("admit", "AND NOT own.cancel", "")),
            ("claim", "cancel what may pass"),
            "penstock.admit",
        ),
        Safeguard(
            "a worker is judged once in a claim",
            judged_by_each_statement,
            ("claim, knowing the lanes", "mark a worker"),
            "penstock.admit",
        ),
        Safeguard(
            "a gate is locked while it is counted",
            redefined("admit", "ORDER BY gate.gate FOR NO KEY UPDATE", "ORDER BY gate.gate"),
            ("claim one", "claim one"),
            "before insert hold",
        ),
        Safeguard(
            "the term of the leader is locked",
            replaced(("check_term", "FOR SHARE", "")),
            ("recover", "take the lead"),
            "look at leader",
        ),
        Safeguard(
            "of two who retry a dead letter the second sees the first",
            replaced(("find_dead", "FOR UPDATE OF outcome", "")),
            ("retry the dead", "retry the dead"),
            "look at outcome",
        ),
        Safeguard(
            "one who takes a unique key is waited for",
            replaced(("take_unique", "DO UPDATE SET id = excluded.id WHERE false", "DO NOTHING")),
            ("enqueue in a transaction", "enqueue the only one"),
            "look at unique_key",
        ),
        Safeguard(
            "what makes room for another tenant's job, and is cancelled meanwhile, ends",
            replaced(("give_back", "AND NOT cancel", "")),
            ("claim in turns", "cancel what makes room"),
            "lease",
        ),
        Safeguard(
            "whoever leaves a line wakes those behind",
            replaced(("leave_line", "SET wake_at = penstock.moment(%(now)s::bigint)", "SET wake_at = gate.wake_at")),
            ("expire", "claim one"),
            "penstock.waiting",
        ),
        Safeguard(
            "an effect is ended by the attempt that began it",
            replaced(("end_once", "AND once.token = lease.token", "")),
            ("end effects", "recover"),
            "once",
        ),
        Safeguard(
            "what ended attempts still hold is not waited for, by who tends the gates",
            replaced(("tend_gates", "    FOR UPDATE SKIP LOCKED\n),\nfreed", "    FOR UPDATE\n),\nfreed")),
            ("fail", "tend gates"),
            "look at gate",
        ),
        Safeguard(
            "a gate before which a new job is parked is kept",
            replaced(("lock_gates", "FOR KEY SHARE", "")),
            ("enqueue before gates", "tend gates"),
            "look at gate",
        ),
    )
}


def noticed(net: Net, safeguard: Safeguard) -> Verdict | None:
    """The first interleaving that finds something without it, of those that should."""
    holds = [hold for hold in net.holds(*safeguard.caught_by) if safeguard.where in hold.what]
    assert holds, f"{safeguard.name}: nothing is held at {safeguard.where!r} any more"
    with safeguard.without(net):
        verdicts = (net.run(*safeguard.caught_by, hold) for hold in holds)
        return next((verdict for verdict in verdicts if verdict.problems), None)
