"""The enqueue side: from a call to a stored job, and following it to its end."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import App
from penstock.client.client import TYPES_CACHED_SECONDS, JobHandle
from penstock.domain import errors
from penstock.domain.job import Event, State
from penstock.domain.options import Options, Policy, Tenant, Unique
from penstock.engines import open_store
from tests.contract.clock import FakeClock
from tests.contract.world import World, error_text


@dataclass
class Point:
    x: int


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def app(tmp_path: Path, clock: FakeClock) -> Iterator[App]:
    app = App(open_store(f"sqlite:///{tmp_path}/jobs.db", clock=clock, random=lambda: 0.5), clock=clock)
    yield app
    app.close()


@pytest.fixture
def world(app: App, clock: FakeClock) -> World:
    """The other side: a worker's verbs on the same store."""
    return World(app.store, clock)


def test_of_a_job_that_was_rolled_back_no_end_is_claimed(app: App) -> None:
    class OnPurpose(Exception): ...

    @app.job
    async def greet() -> None: ...

    def store_and_raise() -> None:
        with app.transaction() as tx:
            made.append(greet.using(conn=tx).enqueue())
            raise OnPurpose

    made: list[JobHandle[Any]] = []
    with pytest.raises(OnPurpose):
        store_and_raise()
    with pytest.raises(errors.ResultGone, match=r"is not in the store: it ended and was removed, or .* rolled back"):
        made[0].state()


# Enqueue by name


def test_by_name_without_a_handler(app: App, world: World) -> None:
    job = app.enqueue("mail", {"to": "a"}, queue="slow").read()
    assert (job.type, job.payload, job.queue) == ("mail", {"to": "a"}, "slow")
    assert app.enqueue("bare").read().payload == {}


def test_a_name_like_one_that_is_declared_is_told_of_once_and_enqueued(
    app: App, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    @app.job
    def send_email(to: str) -> None: ...

    world.register(declared={"send_invoice": Options()})
    for name in ("snd_email", "send_invoices", "snd_email", "import_orders"):
        assert app.enqueue(name, {}).created
    told = [record.getMessage() for record in caplog.records]
    assert [message.partition("; ")[2] for message in told] == [
        "did you mean 'send_email'?",
        "did you mean 'send_invoice'?",
    ]


def test_by_name_with_the_options_that_workers_declared(app: App, world: World, clock: FakeClock) -> None:
    world.register(declared={"mail": Options(queue="mail", policy=Policy(attempts=9))})
    assert app.enqueue("mail", {}).read().max_attempts == 9
    world.register("other", declared={"mail": Options(queue="mail", policy=Policy(attempts=4))})
    assert app.enqueue("mail", {}).read().max_attempts == 9
    clock.advance(TYPES_CACHED_SECONDS + 1)
    assert app.enqueue("mail", {}, priority=5).read().max_attempts == 4
    assert asyncio.run(app.aenqueue("mail", {})).read().queue == "mail"


def test_by_name_with_a_handler_here_is_checked_by_it(app: App) -> None:
    @app.job(queue="mail", aliases=["old-mail"])
    def mail(to: str) -> None: ...

    assert app.enqueue("old-mail", {"to": "a"}).read().type == "mail"
    with pytest.raises(errors.PayloadError):
        app.enqueue("mail", {"to": 5})


@pytest.mark.parametrize("payload", [["a"], "a", 5])
def test_a_payload_by_name_is_a_mapping(app: App, payload: Any) -> None:
    with pytest.raises(errors.PayloadError, match="by name, as a dict"):
        app.enqueue("mail", payload)


def test_a_payload_by_name_must_be_plain(app: App) -> None:
    for payload in ({"a": uuid.uuid4()}, {"a": {1: 2}}):
        with pytest.raises(errors.PayloadError):
            app.enqueue("mail", payload)
    with pytest.raises(errors.ConfigError, match="job name"):
        app.enqueue("two words", {})


# Many, ids, unique keys


def test_many_are_stored_together_or_not_at_all(app: App, world: World) -> None:
    @app.job
    def square(x: int) -> int:
        return x * x

    handles = app.enqueue_many(square.bind(n) for n in range(10))
    assert [handle.read().payload["x"] for handle in handles] == list(range(10))
    with pytest.raises(errors.PayloadError):
        app.enqueue_many(square.bind(n) for n in (1, "two"))  # type: ignore[arg-type]
    with pytest.raises(errors.UsageError, match="bind"):
        app.enqueue_many([square.bind(1), square])  # type: ignore[list-item]
    assert len(world.list_ids()) == 10
    assert len(asyncio.run(app.aenqueue_many([square.bind(1), square.bind(2)]))) == 2


def test_ids_and_unique_keys(app: App) -> None:
    mine = str(uuid.uuid5(uuid.NAMESPACE_URL, "mine"))
    first = app.enqueue("mail", {}, id=mine)
    again = app.enqueue("mail", {}, id=mine.upper())
    assert (first.id, first.created, again.id, again.created) == (mine, True, mine, False)
    holder = app.enqueue("mail", {}, unique=Unique("k"))
    other = app.enqueue("mail", {}, unique=Unique("k"))
    assert (other.id, other.created) == (holder.id, False)


def test_a_unique_key_on_the_type_is_filled_from_the_payload(app: App) -> None:
    @app.job(unique=Unique("store:{store_id}:{page}", per="1h", scope="type"))
    def sync(store_id: int, page: int = 1) -> None: ...

    first, again, other = app.enqueue_many([sync.bind(7), sync.bind(7, page=1), sync.bind(8)])
    assert (again.id, again.created, other.created) == (first.id, False, True)
    assert first.read().keys == ('type "sync": store:7:1',)
    assert app.enqueue("sync", {"store_id": 7}).id == first.id
    assert sync.using(unique=None).enqueue(7).created


def test_unique_keys_that_cannot_be_filled(app: App) -> None:
    with pytest.raises(errors.ConfigError, match=r"names \{store\}, which the handler does not have.*store_id"):

        @app.job(unique=Unique("store:{store}"))
        def sync(store_id: int) -> None: ...

    with pytest.raises(errors.PayloadError, match=r"has no usable value for \{store_id\}"):
        app.enqueue("mail", {"to": "a"}, unique=Unique("store:{store_id}"))
    with pytest.raises(
        errors.ConfigError, match=r"'k' of mail is one per tenant, and the job has none: .*using\(tenant"
    ):
        app.enqueue("mail", {}, unique=Unique("k", scope="tenant"))


def test_a_unique_key_per_tenant(app: App) -> None:
    unique = Unique("k", scope="tenant")
    first, other, again = (app.enqueue("mail", {}, unique=unique, tenant=Tenant(org)) for org in ("a", "b", "a"))
    assert (first.created, other.created, again.created, again.id) == (True, True, False, first.id)


def test_the_policy_is_stored_only_where_it_differs(app: App, world: World) -> None:
    session = world.register()
    app.enqueue("plain", {})
    app.enqueue("explicit", {}, attempts=3)
    app.enqueue("own", {}, attempts=5, ttl="1h", tenant=Tenant("acme"))
    plain, explicit, own = world.claim(session)
    assert (plain.policy, explicit.policy, own.policy) == (None, None, '{"a":5,"l":3600.0}')
    assert own.tenant == Tenant("acme")


def test_many_different_policies(app: App) -> None:
    for number in range(301, 1500):
        call = app.client.call_by_name("t", {}, {"timeout": float(number)}, {})
        assert call.spec.policy == f'{{"t":{number}.0}}'


# Following


def test_get_and_unknown_ids(app: App) -> None:
    handle = app.enqueue("mail", {})
    assert app.get(handle.id).id == handle.id
    assert asyncio.run(app.aget(handle.id)).id == handle.id
    assert repr(handle) == f"<job {handle.id}>"
    with pytest.raises(errors.UnknownJob):
        app.get(str(uuid.uuid4()))
    with pytest.raises(errors.ConfigError):
        app.get("mine")


def test_a_result_has_the_handlers_type(app: App, world: World) -> None:
    @app.job
    def locate() -> Point:
        return Point(1)

    handle = locate.enqueue()
    world.complete(world.claim_one(world.register()), result='{"x":5}')
    assert handle.result(timeout=5) == Point(5)
    assert asyncio.run(handle.aresult(timeout=5)) == Point(5)
    assert app.get(handle.id).result() == Point(5)
    assert handle.state() is State.COMPLETED
    assert asyncio.run(handle.astate()) is State.COMPLETED


def test_results_of_unknown_types_are_plain(app: App, world: World) -> None:
    handle = app.enqueue("mail", {})
    world.complete(world.claim_one(world.register()), result='{"x":5}')
    assert app.get(handle.id).result() == {"x": 5}


def ended(app: App, world: World, how: str) -> JobHandle[Any]:
    session = world.register()
    handle = app.enqueue("mail", {}, ttl="1s")
    if how == "expired":
        world.clock.advance(2)
        world.claim(session)
    elif how == "cancelled":
        handle.cancel()
    else:
        error = error_text("no luck") if how == "dead" else None
        world.end(world.claim_one(session), Event.FAIL, error=error, reason="gave up")
    return handle


@pytest.mark.parametrize(
    ("how", "kind", "why"),
    [
        ("dead", errors.JobFailed, "gave up; ValueError: no luck"),
        ("dead without an error", errors.JobFailed, "no error was stored"),
        ("cancelled", errors.JobCancelled, "cancelled while it was waiting"),
        ("expired", errors.JobExpired, "time-to-live"),
    ],
)
def test_other_ends_are_raised(app: App, world: World, how: str, kind: type[Exception], why: str) -> None:
    handle = ended(app, world, how)
    with pytest.raises(kind, match=why):
        handle.result(timeout=5)
    with pytest.raises(kind, match=why):
        asyncio.run(handle.aresult(timeout=5))


def test_the_error_of_a_dead_job_is_at_hand(app: App, world: World) -> None:
    handle = ended(app, world, "dead")
    with pytest.raises(errors.JobFailed) as caught:
        handle.result()
    assert getattr(caught.value.error, "message", None) == "no luck"


def test_patience_has_an_end(app: App) -> None:
    handle = app.enqueue("mail", {})
    for timeout in (0, 0.01):
        with pytest.raises(errors.ResultTimeout, match="it goes on by itself"):
            handle.result(timeout=timeout)
        with pytest.raises(TimeoutError):
            asyncio.run(handle.aresult(timeout=timeout))


def test_a_result_is_awaited_while_it_is_made(app: App, world: World) -> None:
    handle = app.enqueue("mail", {})
    session = world.register()
    claim = world.claim_one(session)
    waiting = threading.Event()
    results: list[Any] = []

    def wait() -> None:
        waiting.set()
        results.append(handle.result(timeout=30))

    thread = threading.Thread(target=wait)
    thread.start()
    assert waiting.wait(10)
    world.complete(claim, result='"made"')
    thread.join()
    assert results == ["made"]

    async def main() -> Any:
        second = await app.aenqueue("mail", {})
        task = asyncio.create_task(second.aresult(timeout=30))
        await asyncio.sleep(0)
        claims = await asyncio.to_thread(world.claim, session)
        await asyncio.to_thread(world.complete, *claims, result='"again"')
        return await task

    assert asyncio.run(main()) == "again"


def test_a_removed_job_says_so(app: App, world: World) -> None:
    handle = app.enqueue("mail", {})
    world.complete(world.claim_one(world.register()), keep=False)
    for use in (handle.read, handle.state, handle.result):
        with pytest.raises(errors.ResultGone):
            use()
    with pytest.raises(errors.ResultGone):
        asyncio.run(handle.aresult())


def test_cancelling(app: App) -> None:
    handle, other = app.enqueue("mail", {}), app.enqueue("mail", {})
    assert handle.cancel().after is State.CANCELLED
    assert asyncio.run(other.acancel()).after is State.CANCELLED


# Plain calls in a loop


def test_plain_calls_are_refused_in_a_running_loop(app: App) -> None:
    handle = app.enqueue("mail", {})
    uses = {
        "enqueue": lambda: app.enqueue("mail", {}), "enqueue_many": lambda: app.enqueue_many([]),
        "get": lambda: app.get(handle.id), "transaction": app.transaction, "read": handle.read, "state": handle.state,
        "result": handle.result, "cancel": handle.cancel,
    }  # fmt: skip

    async def main() -> None:
        for name, use in uses.items():
            with pytest.raises(errors.UsageError, match=rf"^{name}\(\).*await a{name}\(\)"):
                use()

    asyncio.run(main())


# Interrupted


def test_an_interrupt_says_what_may_have_been_stored(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting:
        def wait(self) -> None:
            raise KeyboardInterrupt

    app.enqueue("mail", {})
    monkeypatch.setattr(app.store, "enqueue_jobs", lambda params: Interrupting())
    with pytest.raises(KeyboardInterrupt) as caught:
        app.enqueue_many([app.client.call_by_name("mail", {}, {}, {})] * 7)
    (note,) = caught.value.__notes__
    assert "may have been stored" in note
    assert "and 2 more" in note


# Pausing


def test_a_queue_is_paused_and_resumed_and_each_says_whether_that_changed_anything(app: App, world: World) -> None:
    job = world.add(type="send", queue="mail")
    session = world.register()
    assert app.pause_queue("mail", reason="down", by="ann") is True
    assert app.pause_queue("mail") is False
    assert world.claim(session) == []
    (pause,) = app.store.list_pauses().wait()
    assert (pause.kind, pause.name, pause.actor, pause.reason) == ("queue", "mail", "ann", "down")
    assert app.resume_queue("mail") is True
    assert app.resume_queue("mail") is False
    assert [claim.id for claim in world.claim(session)] == [job]


def test_a_type_is_paused_and_resumed(app: App, world: World) -> None:
    world.add(type="send")
    session = world.register()
    assert (app.pause_type("send"), app.pause_type("send")) == (True, False)
    assert world.claim(session) == []
    assert (app.resume_type("send"), app.resume_type("send")) == (True, False)
    assert len(world.claim(session)) == 1


def test_the_async_twins_do_the_same(app: App, world: World) -> None:
    world.add(type="send", queue="mail")

    async def story() -> list[bool]:
        return [
            await app.apause_queue("mail"), await app.aresume_queue("mail"), await app.aresume_queue("mail"),
            await app.apause_type("send"), await app.apause_type("send"), await app.aresume_type("send"),
        ]  # fmt: skip

    assert asyncio.run(story()) == [True, True, False, True, False, True]
    assert app.store.list_pauses().wait() == []


@pytest.mark.parametrize("by", [None, 5, "", "a\0b", "x" * 201])
@pytest.mark.parametrize("name", ["pause_queue", "resume_queue", "pause_type", "resume_type"])
def test_who_pauses_has_a_name(app: App, name: str, by: Any) -> None:
    with pytest.raises(errors.ConfigError, match="is not who did it: a text of 1 to 200 characters"):
        getattr(app, name)("mail", by=by)


@pytest.mark.parametrize("name", ["pause_queue", "resume_queue", "pause_type", "resume_type"])
def test_pausing_in_a_running_loop_names_the_async_twin(app: App, name: str) -> None:
    async def story() -> None:
        getattr(app, name)("mail")

    with pytest.raises(errors.UsageError, match=rf"await a{name}\(\)"):
        asyncio.run(story())


def test_what_nobody_knows_is_an_error_unless_forced(app: App) -> None:
    with pytest.raises(errors.UnknownQueue, match="force=True"):
        app.pause_queue("mail")
    with pytest.raises(errors.UnknownType):
        app.resume_type("send")
    assert app.pause_queue("mail", force=True) is True


def test_what_this_program_declares_is_known_before_any_worker_has_started(app: App) -> None:
    @app.job(queue="mail")
    async def send() -> None: ...

    assert (app.resume_queue("mail"), app.pause_queue("mail"), app.pause_type("send")) == (False, True, True)
