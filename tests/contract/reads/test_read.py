"""Seeing: one job, pages of jobs, counts, and what is kept of a job's history."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from penstock.domain.clock import from_us
from penstock.domain.flow.gates import Gate
from penstock.domain.job import FINAL, ErrorInfo, Event, State
from penstock.domain.options import Tenant
from penstock.store import contract as p
from penstock.store.contract import Count, CountJobs, History, ListJobs
from tests.contract.conftest import OpenAgain
from tests.contract.world import World, error_text


def one_of_each(world: World, session: int) -> dict[State, str]:
    """A job in every state that this version can reach."""
    ids = {state: world.add() for state in (State.COMPLETED, State.DEAD, State.CLAIMED, State.RUNNING)}
    completed, dead, _, running = world.claim(session)
    world.complete(completed)
    world.end(dead, Event.FAIL)
    world.start(running)
    ids[State.EXPIRED] = world.add(ttl=1.0)
    world.clock.advance(2)
    world.claim(session)
    ids[State.CANCELLED] = world.add()
    world.cancel(ids[State.CANCELLED])
    ids[State.PENDING], ids[State.SCHEDULED] = world.add(), world.add(delay=60.0)
    return ids


def test_an_unknown_job_is_none(world: World) -> None:
    assert world.find(world.new_id()) is None
    assert world.store.read_history(world.new_id()).wait() == []


def test_every_state_reads_lists_and_counts_alike(world: World, session: int) -> None:
    ids = one_of_each(world, session)
    assert {job_id: world.state(job_id) for job_id in ids.values()} == {job_id: state for state, job_id in ids.items()}
    for state, job_id in ids.items():
        assert world.list_ids(states=frozenset({state})) == [job_id]
    assert sorted(world.store.count_jobs().wait(), key=lambda count: count.state) == [
        Count("task", "default", state, 1) for state in sorted(ids)
    ]


def test_states_can_be_combined(world: World, session: int) -> None:
    ids = one_of_each(world, session)
    wanted = frozenset({State.PENDING, State.DEAD, State.RUNNING, State.COMPLETED})
    assert set(world.list_ids(states=wanted)) == {ids[state] for state in wanted}
    assert set(world.list_ids(states=FINAL)) == {ids[state] for state in FINAL}
    assert world.list_ids(states=frozenset()) == []
    assert world.list_ids(states=frozenset({State.BLOCKED})) == []


def test_a_due_job_is_pending_before_anyone_claims(world: World) -> None:
    job_id = world.add(delay=5.0)
    world.clock.advance(5)
    assert world.state(job_id) is State.PENDING
    assert world.list_ids(states=frozenset({State.PENDING})) == [job_id]
    assert world.list_ids(states=frozenset({State.SCHEDULED})) == []
    assert world.store.count_jobs().wait() == [Count("task", "default", State.PENDING, 1)]


def test_counts_are_by_type_queue_and_state(world: World, session: int) -> None:
    world.add_many(3, type="a")
    world.add_many(2, type="a", queue="slow")
    world.add(type="b", delay=9.0)
    world.claim(session, 2, types=("a",), queues=("slow",))
    assert world.store.count_jobs().wait() == [
        Count("a", "default", State.PENDING, 3),
        Count("a", "slow", State.CLAIMED, 2),
        Count("b", "default", State.SCHEDULED, 1),
    ]


def test_pages_are_newest_first_without_gaps_or_repeats(world: World) -> None:
    ids = world.add_many(10)
    seen: list[str] = []
    before = None
    for _ in range(4):
        page = [job.id for job in world.store.list_jobs(ListJobs(before=before, limit=3)).wait()]
        seen += page
        before = page[-1] if page else before
        world.clock.advance(1)
        world.add()
    assert seen == list(reversed(ids))


def test_a_page_holds_twenty_unless_told(world: World) -> None:
    world.add_many(25)
    assert len(world.store.list_jobs(ListJobs()).wait()) == 20


def test_filters(world: World) -> None:
    plain = world.add()
    mail = world.add(type="mail", queue="slow", tenant=Tenant("acme", "eu"), tags=("red", "blue"))
    other = world.add(type="mail", tenant=Tenant("other"), tags=("reddish",))
    assert world.list_ids(type="mail") == [other, mail]
    assert world.list_ids(queue="slow") == [mail]
    assert world.list_ids(tenant="acme") == [mail]
    assert world.list_ids(tenant="acme", workspace="eu") == [mail]
    assert world.list_ids(tenant="acme", workspace="us") == world.list_ids(tenant="eu") == []
    assert world.list_ids(tag="red") == [mail]
    assert world.list_ids(tag="red", tenant="other") == []
    assert world.list_ids(type="mail", queue="default") == [other]
    assert world.list_ids(type="nothing") == []
    assert world.list_ids() == [other, mail, plain]


def test_counts_of_some_tenants_and_tags(world: World, session: int) -> None:
    acme, other = Tenant("acme", "eu"), Tenant("other")
    fields: dict[str, Any]
    for fields in ({}, {"tenant": acme}, {"tenant": other, "tags": ("red",)}, {"tenant": acme, "type": "mail"}):
        world.add(**fields)
    world.complete(world.claim_one(session))
    world.start(world.claim_one(session))
    world.claim_one(session)
    world.add(tenant=acme, delay=60.0, tags=("red",))

    def counted(**filter: Any) -> set[tuple[Any, ...]]:
        found = world.store.count_jobs(CountJobs(**filter)).wait()
        return {(count.type, count.tenant, count.state, count.jobs) for count in found}

    of_acme = {("task", "acme", State.RUNNING, 1), ("mail", "acme", State.PENDING, 1),
               ("task", "acme", State.SCHEDULED, 1)}  # fmt: skip
    of_other = {("task", "other", State.CLAIMED, 1)}
    assert counted(tenant="acme") == counted(tenant="acme", workspace="eu") == of_acme
    assert counted(by_tenant=True) == of_acme | of_other | {("task", None, State.COMPLETED, 1)}
    assert counted(tag="red") == of_other | {("task", "acme", State.SCHEDULED, 1)}
    assert counted(tenant="acme", type="mail", queue="default") == {("mail", "acme", State.PENDING, 1)}
    assert counted(tenant="acme", workspace="us") == counted(tag="reddish") == set()


def test_blocked_jobs_of_a_tenant_are_counted(world: World, session: int) -> None:
    job = world.new_job(tenant=Tenant("acme"))
    gates = (Gate("key:a", 1, None, "key:a"),)
    world.enqueue(*(msgspec.structs.replace(job, id=world.new_id(), gates=gates) for _ in range(3)))
    world.claim(session)
    found = world.store.count_jobs(CountJobs(tenant="acme")).wait()
    assert {count.state: count.jobs for count in found} == {State.CLAIMED: 1, State.BLOCKED: 2}


def test_the_version_if_there_is_one_changes_when_anyone_commits(world: World, open_again: OpenAgain) -> None:
    other = open_again()
    before = world.store.version()
    if before is None:
        world.add()
        assert world.store.version() is None
        return
    assert world.store.version() == before
    world.add()
    own = world.store.version()
    assert own != before
    other.add()
    assert world.store.version() != own


# History


def play(world: World, session: int, history: History) -> tuple[str, str]:
    """A job that is released, retried and completes, and one that fails."""
    good, bad = world.add_many(2)
    first, second = world.claim(session)
    world.end(first, Event.RELEASE, history=history, reason="shutdown")
    world.end(second, Event.FAIL, history=history, error=error_text("no"), reason="gave up")
    world.end(world.claim_one(session), Event.BACK_OFF, history=history, error=error_text("soon"))
    world.complete(world.claim_one(session), history=history)
    return good, bad


def test_by_default_retries_releases_and_failures_are_kept(world: World, session: int) -> None:
    good, bad = play(world, session, "default")
    release, back_off = world.store.read_history(good).wait()
    assert (release.event, release.attempt, release.reason, release.worker_id) == ("release", 1, "shutdown", "worker")
    assert (back_off.event, back_off.attempt, back_off.error) == ("back_off", 1, ErrorInfo("ValueError", "soon"))
    assert back_off.at == from_us(world.clock.now_us())
    assert world.events(bad) == ["fail"]
    assert world.state(good) is State.COMPLETED


def test_all_keeps_the_steps_of_a_success_too(world: World, session: int) -> None:
    good, bad = play(world, session, "all")
    assert world.events(good) == ["release", "back_off", "claim", "start", "complete"]
    assert world.events(bad) == ["fail"]


def test_failures_keeps_nothing_of_a_success(world: World, session: int) -> None:
    good, bad = play(world, session, "failures")
    assert world.find(good) is None
    assert world.events(good) == []
    assert (world.state(bad), world.events(bad)) == (State.DEAD, ["fail"])


def test_none_keeps_no_steps_but_the_dead_letter(world: World, session: int) -> None:
    good, bad = play(world, session, "none")
    assert world.find(good) is None
    assert (world.state(bad), world.events(bad)) == (State.DEAD, [])
    error = world.read(bad).error
    assert error is not None
    assert error.message == "no"


@pytest.mark.parametrize("history", ["all", "default", "failures", "none"])
def test_an_operators_act_is_kept_whatever_the_setting(world: World, session: int, history: History) -> None:
    job_id = world.add()
    world.end(world.claim_one(session), Event.BACK_OFF, history=history, delay=60.0)
    world.cancel(job_id, "alice")
    assert world.events(job_id)[-1] == "cancel"


def test_by_state_alone_says_the_same(world: World, session: int) -> None:
    world.add_dead(session)
    world.add(type="other", queue="q")
    world.complete(*world.claim(session, types=("other",)))
    world.add_many(3)
    world.add(delay=60.0)
    world.cancel(world.add())
    world.add(ttl=1.0)
    world.clock.advance(2)
    by_route, alone = (world.store.count_jobs(asked).wait() for asked in (p.ALL_JOBS, p.ALL_STATES))
    assert Counter({state: jobs_in(by_route, state) for state in State}) == Counter(
        {state: jobs_in(alone, state) for state in State}
    )
    assert jobs_in(alone, State.DEAD) == jobs_in(alone, State.COMPLETED) == jobs_in(alone, State.EXPIRED) == 1
    assert {(one.type, one.queue) for one in alone if one.state is State.COMPLETED} == {("", "")}


def jobs_in(counts: list[p.Count], state: State) -> int:
    return sum(one.jobs for one in counts if one.state is state)
