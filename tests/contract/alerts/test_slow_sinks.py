"""A sink that takes a message and does not answer: the others hear in time, and what they heard is stored."""

from __future__ import annotations

import asyncio
import threading

import pytest

from penstock.coordinator.alerting import sending
from penstock.coordinator.alerting.sending import in_thread
from penstock.outbound.message import AlertMessage
from penstock.store import contract as p
from tests.contract.alerts.watch import Kept, Watch
from tests.contract.world import World

WAITS_SECONDS_MAX = 30.0


class Silent(Kept):
    """Until it is let go."""

    def __init__(self) -> None:
        super().__init__("slow")
        self.asked: list[str] = []
        self.let_go = threading.Event()

    def send(self, message: AlertMessage) -> None:
        self.asked.append(message.scope)
        assert self.let_go.wait(WAITS_SECONDS_MAX)
        super().send(message)


def told(watch: Watch, scope: str) -> dict[str, p.Told]:
    return dict(watch.rows()["final_failure", scope].told)


def test_a_sink_that_does_not_answer_delays_no_other_and_hears_all_in_order(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "WAITED_SECONDS_MAX", 0.2)
    slow, good = Silent(), Kept("good")
    watch = Watch(world, "leader", slow, good, carry_out=in_thread)

    async def fails(type: str) -> None:
        await asyncio.to_thread(world.add_dead, watch.session, type=type)
        await watch.duty.do(watch.term)

    async def look() -> None:
        await fails("first")
        found = await asyncio.to_thread(told, watch, "first")
        assert (good.said(), slow.asked) == ([("firing", "final_failure", "first")], ["first"])
        assert (found["good"].arrived, found["slow"].arrived) == (True, False)
        await fails("second")
        assert (good.said(), slow.asked) == ([("firing", "final_failure", "second")], ["first"])
        slow.let_go.set()
        async with asyncio.timeout(WAITS_SECONDS_MAX):
            while not (await asyncio.to_thread(told, watch, "first"))["slow"].arrived:
                await asyncio.sleep(0.02)
        await watch.duty.do(watch.term)
        await fails("third")

    watch.run(look)
    assert slow.asked == ["first", "second", "third"]
    assert good.said() == [("firing", "final_failure", "third")]
    assert all(one.arrived for scope in slow.asked for one in told(watch, scope).values())


def test_what_others_have_heard_is_not_repeated_when_the_leader_is_killed_meanwhile(world: World) -> None:
    slow, good = Silent(), Kept("good")
    watch = Watch(world, "leader", slow, good, carry_out=in_thread)
    world.add_dead(watch.session)

    async def look() -> None:
        task = asyncio.create_task(watch.duty.do(watch.term))
        async with asyncio.timeout(WAITS_SECONDS_MAX):
            while (
                not await asyncio.to_thread(watch.rows)
                or not (await asyncio.to_thread(told, watch, "task")).get("good", p.Told(sent="firing")).arrived
            ):
                assert not task.done()
                await asyncio.sleep(0.02)
        task.cancel()

    watch.run(look)
    watch.resign()
    slow.let_go.set()
    others = Kept("slow"), Kept("good")
    Watch(world, "successor", *others).look(1.0)
    assert [one.said() for one in others] == [[("firing", "final_failure", "task")], []]
