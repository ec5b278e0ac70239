"""Alerts as they leave: to receivers on this machine, in threads of their own; and who sees that nobody leads."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from penstock.coordinator.alerting.alerting import Alerting
from penstock.coordinator.alerting.sending import Sending
from penstock.coordinator.alerting.sinks import make_sinks
from penstock.coordinator.alerting.unled import Unled
from penstock.coordinator.coordinator import Coordinator
from penstock.coordinator.duties import DUTIES, link_alerts
from penstock.coordinator.duties.alerts import Alerts, ping
from penstock.coordinator.duties.schedules import Firing
from penstock.coordinator.leader import Leader
from penstock.coordinator.settings import CoordinatorSettings
from penstock.domain.errors import OutboundError, StoreUnavailable
from penstock.observe.alerts.settings import AlertSettings, SinkSpec
from penstock.outbound.message import AlertMessage
from tests.coordinator.conftest import Scene
from tests.outbound.receiver import answer, receiver, sent_headers

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def message(**fields: Any) -> AlertMessage:
    known = {"rule": "stale_jobs", "scope": "store", "severity": "warning", "state": "firing", "title": "t"}
    return AlertMessage(**{**known, "message": "m", "since_us": 1, "at_us": 2, "key": "key-1", **fields})


def send(sending: Sending, *messages: AlertMessage) -> dict[str, dict[int, str | None]]:
    found: dict[str, dict[int, str | None]] = {}

    async def heard(sink: str, answers: dict[int, str | None]) -> None:
        found[sink] = answers

    asyncio.run(sending.send(dict.fromkeys(sending.sinks, messages), heard))
    return found


def sending_to(*specs: SinkSpec) -> Sending:
    return Sending(make_sinks(specs), pause=lambda seconds: None)


def test_a_webhook_gets_it_signed_and_a_chat_as_text() -> None:
    with receiver(answer(200)) as hook, receiver(answer(200)) as chat:
        sending = sending_to(
            SinkSpec("webhook", "ops", hook.url, (SECRET,)), SinkSpec("slack", "chat", chat.url), SinkSpec("log", "log")
        )
        assert send(sending, message()) == {"ops": {0: None}, "chat": {0: None}, "log": {0: None}}
        [got], [said] = hook.requests, chat.requests
    assert sent_headers(got)["webhook-id"] == "key-1-firing"
    assert sent_headers(got)["webhook-signature"].startswith("v1,")
    assert json.loads(got.partition(b"\r\n\r\n")[2])["data"]["key"] == "key-1"
    assert b"FIRING" in said


@pytest.mark.parametrize(
    ("answered", "words", "tries"),
    [(answer(500), "answered 500", 2), (answer(302, Location="http://127.0.0.1/"), "redirects, which is not", 1)],
    ids=["500", "redirect"],
)
def test_a_receiver_that_refuses_is_tried_as_often_as_may_help(answered: bytes, words: str, tries: int) -> None:
    with receiver(answered) as hook:
        sending = sending_to(SinkSpec("webhook", "ops", hook.url + "/T0KEN"))
        [error] = send(sending, message(), message(key="key-2"))["ops"].values()
        assert hook.connections == tries
    assert error is not None
    assert words in error
    assert "T0KEN" not in error
    assert sending.failing == {"ops": error}


def test_a_receiver_that_is_gone_is_told_once_and_when_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "penstock.alerts")
    with receiver(answer(200)) as hook:
        url = hook.url
    sending = sending_to(SinkSpec("webhook", "ops", url))
    for _ in range(3):
        [error] = send(sending, message())["ops"].values()
        assert error is not None
    assert caplog.text.count("alerts do not arrive at ops") == 1


def test_a_loop_that_ends_does_not_wait_for_a_receiver_that_does_not_answer() -> None:
    """It is left where it is, and its answer goes nowhere."""
    import threading

    asked, let_go = threading.Event(), threading.Event()
    waited_for: list[bool] = []

    def silent(connection: Any) -> None:
        asked.set()
        waited_for.append(let_go.wait(30))

    async def heard(sink: str, answers: object) -> None:
        raise AssertionError

    async def main() -> None:
        task = asyncio.create_task(sending.send({"ops": [message()]}, heard))
        await asyncio.to_thread(asked.wait, 30)
        task.cancel()

    with receiver(silent) as hook:
        sending = sending_to(SinkSpec("webhook", "ops", hook.url))
        asyncio.run(main())
        assert asked.is_set()
        assert waited_for == []
        let_go.set()


def test_the_heartbeat_is_a_request_to_wherever_the_config_says() -> None:
    with receiver(answer(200), answer(500)) as watcher:
        asyncio.run(ping(f"{watcher.url}/id"))
        with pytest.raises(OutboundError):
            asyncio.run(ping(f"{watcher.url}/id"))
        assert watcher.requests[0].startswith(b"POST /id ")


# As a part of what leads


def test_schedules_that_were_missed_are_handed_to_the_one_who_tells(scene: Scene) -> None:
    duties = [make(scene.store, CoordinatorSettings()) for make in DUTIES]
    alerts = link_alerts(duties)
    assert isinstance(alerts, Alerts)
    [firing] = [duty for duty in duties if isinstance(duty, Firing)]
    assert firing.on_missed == alerts.missed


def coordinator(scene: Scene, name: str, session: int) -> Coordinator:
    settings = AlertSettings()
    leader = Leader(scene.store, lambda: session, name, 10.0)
    unled = Unled(scene.store, settings, Alerting(scene.store, settings, Sending(make_sinks(settings.sinks))))
    return Coordinator(leader, (), lambda: True, None, unled)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if "obody leads" in one.getMessage() and one.levelno >= 40]


def test_that_nobody_leads_for_a_minute_is_told_by_one_of_all(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """None of them may lead: they are not registered."""
    caplog.set_level(logging.INFO)
    for name in ("one", "two"):

        async def main(name: str = name) -> None:
            await coordinator(scene, name, -1).run()

        scene.begin(name, main)
    scene.pass_time(55)
    assert said(caplog) == []
    scene.pass_time(300)
    assert len(said(caplog)) == 1


def test_nothing_is_told_while_somebody_leads(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    session = scene.register("worker")

    async def leads() -> None:
        await coordinator(scene, "worker", session).run()

    async def follows() -> None:
        await coordinator(scene, "other", -1).run()

    scene.begin("leads", leads)
    scene.begin("follows", follows)
    scene.pass_time(300)
    assert said(caplog) == []


def test_while_the_store_is_away_each_says_it_once(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    session = scene.register("worker")

    async def main() -> None:
        await coordinator(scene, "worker", session).run()

    scene.begin("worker", main)
    scene.pass_time(10)
    scene.store.broken = StoreUnavailable("the server does not answer")
    scene.pass_time(600)
    assert len(said(caplog)) == 1
    scene.store.broken = None
    scene.pass_time(30)
    assert len(said(caplog)) == 1
