"""Effects that a job runs at most once, fenced by the token of the attempt."""

from __future__ import annotations

from penstock.domain.job import Event
from penstock.store import contract as p
from tests.contract.world import World


def begin(world: World, claim: p.Claim, key: str = "charge") -> p.Once:
    return world.store.begin_once(p.BeginOnce(claim.token, key)).wait()


def end(world: World, claim: p.Claim, value: str | None = None, key: str = "charge", undone: bool = False) -> bool:
    return world.store.end_once(p.EndOnce(claim.token, key, value, undone)).wait()


def again(world: World, claim: p.Claim, session: int) -> p.Claim:
    world.end(claim, Event.BACK_OFF)
    return world.claim_one(session)


def test_the_first_attempt_runs_it_and_later_ones_get_its_value(world: World, session: int) -> None:
    world.add()
    first = world.claim_one(session)
    assert begin(world, first) == p.Once("run")
    assert end(world, first, '{"id": 7}')
    assert end(world, first, '{"id": 7}'), "an answer that was lost may be asked for again"
    assert begin(world, first) == p.Once("done", '{"id": 7}')
    second = again(world, first, session)
    assert begin(world, second) == p.Once("done", '{"id": 7}')


def test_one_that_was_cut_off_is_uncertain(world: World, session: int) -> None:
    world.add()
    first = world.claim_one(session)
    begin(world, first)
    assert begin(world, first) == p.Once("run")
    second = again(world, first, session)
    assert begin(world, second) == p.Once("uncertain")
    assert not end(world, first, "1")
    assert not end(world, second, "1")
    assert begin(world, second) == p.Once("uncertain")


def test_one_that_raised_may_be_run_again(world: World, session: int) -> None:
    world.add()
    first = world.claim_one(session)
    begin(world, first)
    assert end(world, first, undone=True)
    second = again(world, first, session)
    assert begin(world, second) == p.Once("run")


def test_a_lost_token_may_not_run_it(world: World, session: int) -> None:
    world.add()
    first = world.claim_one(session)
    world.end(first, Event.RELEASE)
    assert begin(world, first) == p.Once("lost")
    assert not end(world, first, "1")


def test_keys_and_jobs_have_nothing_to_do_with_each_other(world: World, session: int) -> None:
    world.add_many(2)
    one, other = world.claim(session)
    begin(world, one, "a")
    end(world, one, "1", "a")
    assert begin(world, one, "b") == p.Once("run")
    assert begin(world, other, "a") == p.Once("run")


def test_nothing_of_it_is_left_of_a_job_that_is_removed(world: World, session: int) -> None:
    for remove in ("complete", "none", "fail", "prune"):
        job = world.add()
        claim = world.claim_one(session)
        begin(world, claim)
        end(world, claim, "1")
        if remove == "complete":
            world.complete(claim, keep=False)
        elif remove == "none":
            world.complete(claim, history="none")
        elif remove == "fail":
            world.end(claim, Event.FAIL, keep=False)
        else:
            world.complete(claim)
            world.clock.advance(1)
            world.prune(completed_after=0.5)
        assert world.find(job) is None
        world.enqueue(world.new_job(id=job))
        anew = world.claim_one(session)
        assert begin(world, anew) == p.Once("run")
        world.complete(anew)
