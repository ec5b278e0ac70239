"""What each sink makes of an alert."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st
from standardwebhooks import Webhook

from penstock.domain.errors import OutboundFailed, OutboundRefused
from penstock.outbound.door import Door
from penstock.outbound.sinks import Sink
from penstock.outbound.sinks.log import LogSink
from penstock.outbound.sinks.slack import TEXT_CHARS_MAX, SlackSink, harmless
from penstock.outbound.sinks.webhook import WebhookSink
from tests.outbound.alerts import an_alert
from tests.outbound.receiver import Receiver, answer, receiver, sent_body, sent_headers

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
GAP = "\u200b"


@pytest.fixture
def door() -> Door:
    return Door(allow_private=True)


def sent(server: Receiver, at: int = -1) -> Any:
    return json.loads(sent_body(server.requests[at]))


# Log


@pytest.mark.parametrize(
    ("severity", "state", "level"),
    [("info", "firing", "INFO"), ("warning", "firing", "WARNING"), ("high", "firing", "ERROR"),
     ("critical", "firing", "CRITICAL"), ("critical", "resolved", "INFO")],
)  # fmt: skip
def test_a_log_is_as_loud_as_the_alert(severity: str, state: str, level: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "penstock.alerts")
    LogSink().send(an_alert(severity=severity, state=state, message="password=hunter2"))
    (record,) = caplog.records
    assert (record.name, record.levelname, vars(record)["event"]) == ("penstock.alerts", level, f"alert.{state}")
    assert record.getMessage() == f"{state} (no_active_workers all): No worker is active: password=***"
    held = {name: vars(record)[name] for name in ("rule", "scope", "severity", "alert", "tags", "value")}
    assert held == {
        "rule": "no_active_workers", "scope": "all", "severity": severity, "alert": "no_active_workers:all:17",
        "tags": ["queue=default"], "value": 12.0,
    }  # fmt: skip


# Webhook


def test_a_webhook_is_signed_and_says_all(door: Door) -> None:
    with receiver(answer(204, b"")) as server:
        WebhookSink(door, f"{server.url}/hook", secrets=[SECRET]).send(an_alert())
    headers = sent_headers(server.requests[0])
    assert (headers["content-type"], headers["webhook-id"]) == ("application/json", "no_active_workers:all:17-firing")
    said: Any = Webhook(SECRET).verify(sent_body(server.requests[0]), headers)
    assert (said["type"], datetime.fromisoformat(said["timestamp"]).timestamp()) == ("alert.firing", 1_700_000_060)
    assert said["data"] == {
        "rule": "no_active_workers", "scope": "all", "severity": "critical", "state": "firing",
        "title": "No worker is active", "message": "12 jobs wait", "since_us": 1_700_000_000_000_000,
        "at_us": 1_700_000_060_000_000, "since": "2023-11-14T22:13:20Z", "key": "no_active_workers:all:17",
        "tags": {"queue": "default"}, "value": 12.0,
    }  # fmt: skip


def test_a_resend_has_the_same_id_and_a_new_moment(door: Door) -> None:
    class Clock:
        def __init__(self) -> None:
            self.seconds = 1_700_000_000

        def monotonic(self) -> float:
            return 0.0

        def now_us(self) -> int:
            self.seconds += 60
            return self.seconds * 1_000_000

    with receiver() as server:
        sink = WebhookSink(door, server.url, secrets=[SECRET], clock=Clock())
        sink.send(an_alert())
        sink.send(an_alert())
    first, second = map(sent_headers, server.requests)
    assert first["webhook-id"] == second["webhook-id"]
    assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 60


def test_headers_of_the_operator_are_sent_and_those_of_the_signature_stay(door: Door) -> None:
    given = {"Authorization": "Bearer abc", "Webhook-Id": "mine", "WEBHOOK-SIGNATURE": "v1,mine"}
    with receiver() as server:
        WebhookSink(door, server.url, secrets=[SECRET], headers=given).send(an_alert())
        WebhookSink(door, server.url).send(an_alert())
    headers = sent_headers(server.requests[0])
    assert headers["authorization"] == "Bearer abc"
    assert Webhook(SECRET).verify(sent_body(server.requests[0]), headers)
    assert "webhook-signature" not in sent_headers(server.requests[1])


# Slack


def test_slack_is_told_in_plain_text(door: Door) -> None:
    with receiver() as server:
        SlackSink(door, f"{server.url}/services/T/B/x").send(an_alert(tags={"queue": "default", "type": "send_email"}))
    said = sent(server)
    assert said["text"] == (
        "[FIRING] critical: No worker is active\n"
        "12 jobs wait\n"
        "rule no_active_workers · scope all · since 2023-11-14 22:13:20 UTC\n"
        "queue=default · type=send_email"
    )
    (block,) = said["blocks"]
    assert block["text"] == {"type": "plain_text", "text": said["text"], "emoji": False}
    assert said["mrkdwn"] is False


HOSTILE = [
    "<!channel>", "<!here|x>", "<@U012AB3CD>", "<#C123>", "<!subteam^S1>", "<https://evil.example|Sign in>", "@channel",
    "@everyone", "@all", "https://evil.example", "[Sign in](https://evil.example)", "![x](//evil.example)",
    "www.evil.example", "&lt;!channel&gt;", "<mailto:a@b.example|x>",
]  # fmt: skip


@pytest.mark.parametrize("words", HOSTILE)
def test_no_text_of_an_alert_rings_for_a_channel_or_makes_a_link(door: Door, words: str) -> None:
    with receiver() as server:
        SlackSink(door, server.url).send(
            an_alert(rule=words, scope=words, title=words, message=f"a {words}", tags={words: words, "type": words})
        )
    for text in (sent(server)["text"], sent(server)["blocks"][0]["text"]["text"]):
        check_harmless(text)
        assert words not in text


@given(st.text(st.sampled_from("<>&@:/]([!ax.w \n")) | st.text(), st.integers(2, 60))
def test_nothing_of_any_text_does(text: str, chars_max: int) -> None:
    found = harmless(text, chars_max)
    check_harmless(found)
    assert len(found) <= chars_max


def check_harmless(text: str) -> None:
    left = text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")
    assert not {"<", ">", "&"} & set(left)
    assert all(after == GAP or after == "…" or after.isspace() for at, after in pairwise(text) if at == "@")
    assert "://" not in text
    assert "](" not in text
    assert "www." not in text.lower()


def test_what_is_long_is_cut_between_two_characters() -> None:
    assert harmless("<" * 10, 14) == "&lt;&lt;&lt;…"
    assert harmless("short", 6) == "short"
    assert len(harmless("&" * 5_000)) <= TEXT_CHARS_MAX


def test_the_word_by_which_slack_says_no_is_told_and_nothing_else_is(door: Door) -> None:
    with receiver(
        answer(404, b"no_service"), answer(404, b"Cannot POST /services/T0S3CRET"), answer(403, b"s_ecret")
    ) as server:
        sink = SlackSink(door, f"{server.url}/services/T0S3CRET/s_ecret")
        with pytest.raises(OutboundFailed, match="answered 404: no_service: see the webhook in the settings"):
            sink.send(an_alert())
        for status in (404, 403):
            with pytest.raises(OutboundFailed, match=f"answered {status}$"):
                sink.send(an_alert())


# All


SINKS: list[Callable[[Door, str], Sink]] = [WebhookSink, SlackSink]


@pytest.mark.parametrize("sink", SINKS)
def test_every_sink_takes_out_what_looks_like_a_secret(door: Door, sink: Callable[[Door, str], Sink]) -> None:
    secret = "postgresql://u:hunter2@h"
    with receiver() as server:
        sink(door, server.url).send(an_alert(title=secret, message=secret, scope=secret, tags={"error": secret}))
    assert b"hunter2" not in server.requests[0]
    assert b"***" in server.requests[0]


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("status", [302, 400, 429, 500])
def test_every_sink_tells_that_it_was_not_taken(door: Door, sink: Callable[[Door, str], Sink], status: int) -> None:
    with receiver(answer(status)) as server, pytest.raises(OutboundFailed, match=f"answered {status}") as caught:
        sink(door, server.url).send(an_alert())
    assert caught.value.status == status


@pytest.mark.parametrize("sink", SINKS)
def test_a_url_that_is_wrong_is_refused_when_the_sink_is_made(door: Door, sink: Callable[[Door, str], Sink]) -> None:
    with pytest.raises(OutboundRefused, match="http:// or https://"):
        sink(door, "ftp://h/")


def test_sinks_have_names(door: Door) -> None:
    sinks: list[Sink] = [LogSink(), WebhookSink(door, "http://h/"), SlackSink(door, "http://h/", name="ops")]
    assert [one.name for one in sinks] == ["log", "webhook", "ops"]
