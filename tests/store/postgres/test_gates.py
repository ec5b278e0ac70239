"""Limits and others at work at the same time: whoever comes first, no job gets lost between them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from penstock.domain.errors import WorkerInactive
from penstock.domain.flow.gates import Gate
from penstock.domain.job import FINAL, Event, State
from penstock.store import contract as p
from tests.store.postgres.rivals import RivalWorld, emptied_world

KEY = Gate("key:a", 1, None, "key:a")


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with emptied_world() as world:
        yield world


@pytest.fixture
def session(world: RivalWorld) -> int:
    return world.register()


def add(world: RivalWorld, count: int = 1) -> list[str]:
    jobs = [msgspec.structs.replace(world.new_job(), gates=(KEY,)) for _ in range(count)]
    return [new.id for new in world.enqueue(*jobs)]


def test_a_gate_that_is_forgotten_while_a_claim_waits_for_it_is_made_again(world: RivalWorld, session: int) -> None:
    (first,) = add(world)
    with world.rival() as rival:
        rival.execute("DELETE FROM gate WHERE name = 'key:a'")
        claiming = world.start_behind(rival, lambda: world.claim(session))
        rival.commit()
        (held,) = claiming.result(30)
    (second,) = add(world)
    assert (held.id, world.claim(session)) == (first, [])
    world.complete(held)
    assert [claim.id for claim in world.claim(session)] == [second]


def test_a_job_that_is_parked_while_its_place_becomes_free_is_let_through(world: RivalWorld, session: int) -> None:
    """The end of the one that holds the key is stored and not yet committed when the other is turned away."""
    _, second = add(world, 2)
    (held,) = world.claim(session)
    with world.rival() as rival:
        rival.execute(f"DELETE FROM lease WHERE token = {held.token}")
        assert world.claim(session) == [], "for all others, the key is still held"
        rival.execute(f"DELETE FROM hold WHERE token = {held.token}")
        rival.execute("UPDATE gate SET wake_at = 0")
        rival.commit()
    assert [claim.id for claim in world.claim(session)] == [second]


def test_two_claims_at_once_do_not_both_pass(world: RivalWorld, session: int) -> None:
    add(world, 1)
    with world.rival() as rival:
        rival.execute("SELECT 1 FROM gate WHERE name = 'key:a' FOR UPDATE")
        other = world.register("other")
        (job,) = add(world, 1)
        claims = [world.start_behind(rival, lambda: world.claim(session, 1))]
        claims.append(world.start_behind(rival, lambda: world.claim(other, 1)))
        rival.commit()
        found = [claim for future in claims for claim in future.result(30)]
    assert len(found) == 1
    assert world.state(job) in (State.BLOCKED, State.CLAIMED)


def test_a_worker_that_is_marked_in_the_midst_of_its_claim_is_told_what_it_holds(
    world: RivalWorld, session: int
) -> None:
    """The claim has leased a job and waits before its gate. It takes nothing more, and the next one is refused."""
    (first,) = add(world)
    with world.rival() as rival:
        rival.execute("SELECT 1 FROM gate WHERE name = 'key:a' FOR UPDATE")
        claiming = world.start_behind(rival, lambda: world.claim(session))
        second = world.add()
        world.store.mark_workers(p.MarkWorkers(failing=(session,))).wait()
        rival.commit()
        assert [claim.id for claim in claiming.result(30)] == [first]
    with pytest.raises(WorkerInactive):
        world.claim(session)
    assert world.state(second) is State.PENDING


def test_a_gate_before_which_a_job_is_being_parked_is_not_forgotten(world: RivalWorld, session: int) -> None:
    """The leader looks while a claim, not yet committed, turns a job away: it must see that, and not only the gate."""
    add(world)
    (held,) = world.claim(session)
    (waiting,) = add(world)
    world.complete(held)
    with world.rival() as rival:
        rival.execute("SELECT 1 FROM gate WHERE name = 'key:a' FOR UPDATE")
        rival.execute(
            "INSERT INTO parked (gate, lane, due_at, id) SELECT gate.gate, waiting.lane, waiting.due_at, waiting.id "
            "FROM waiting CROSS JOIN gate"
        )
        rival.execute("DELETE FROM waiting")
        world.store.tend_gates(p.TendGates()).wait()
        rival.commit()
    world.store.tend_gates(p.TendGates()).wait()
    assert world.state(waiting) is State.BLOCKED
    assert [claim.id for claim in world.claim(session)] == [waiting]


def test_an_enqueue_that_parks_keeps_its_gate(world: RivalWorld, session: int) -> None:
    with world.rival() as rival:
        rival.execute("INSERT INTO gate (name, most, origin) VALUES ('key:a', 1, 'key:a')")
        rival.commit()
        rival.execute("DELETE FROM gate WHERE name = 'key:a'")
        adding = world.start_behind(rival, lambda: add(world, 3))
        rival.commit()
        jobs = adding.result(30)
    seen: list[str] = []
    while claims := world.claim(session):
        seen += [claim.id for claim in claims]
        world.complete(*claims)
    assert seen == jobs


@pytest.mark.parametrize("ending", ["completed", "failed"])
def test_an_end_that_is_stored_is_not_denied_when_its_place_cannot_be_freed(
    world: RivalWorld, session: int, ending: str
) -> None:
    """The end is committed, and then the disk is full: who is told that nothing was stored would say it again."""
    first, second = add(world, 2)
    (held,) = world.claim(session)
    world.rows(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$; "
        f"CREATE TRIGGER full_disk BEFORE DELETE ON {world.schema}.hold EXECUTE FUNCTION full_disk()"
    )
    if ending == "completed":
        assert world.complete(held) == []
    else:
        assert world.end(held, Event.FAIL) == []
    assert world.state(first) in FINAL
    world.rows("DROP FUNCTION full_disk CASCADE")
    world.store.tend_gates(p.TendGates()).wait()
    assert [claim.id for claim in world.claim(session)] == [second]
