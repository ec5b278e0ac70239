"""An alert is told without what looks like a secret, and is known again by its id."""

from __future__ import annotations

import re

import msgspec
import pytest

from penstock.observe.redaction import add_hook
from penstock.outbound.message import message_id, redacted
from tests.outbound.alerts import an_alert

PASSWORD = "postgresql://u:hunter2@h"


def test_no_text_of_it_keeps_what_looks_like_a_secret() -> None:
    message = an_alert(
        rule=PASSWORD, scope=PASSWORD, title=PASSWORD, message=PASSWORD, key=PASSWORD,
        tags={"error": PASSWORD, PASSWORD: "1", "api_key": "hunter2", "type": "send_email"},
    )  # fmt: skip
    told = redacted(message)
    assert b"hunter2" not in msgspec.json.encode(told)
    assert told.tags["type"] == "send_email"
    assert told.message == "postgresql://u:***@h"


def test_the_app_is_asked_too() -> None:
    class Owner: ...

    owner = Owner()
    add_hook(owner, lambda text: re.sub(r"patient \d+", "patient …", text))
    assert redacted(an_alert(message="patient 17 is ill", tags={"who": "patient 17"})).message == "patient … is ill"


def test_what_is_long_is_cut_and_what_is_broken_can_be_sent() -> None:
    told = redacted(an_alert(title="t" * 999, message="\ud800" + "m" * 99_999, tags={str(n): "v" for n in range(99)}))
    assert (len(told.title), len(told.message), len(told.tags)) == (300, 4_000, 20)
    assert msgspec.json.encode(told)


def test_each_try_to_send_it_has_the_same_id_and_its_end_another() -> None:
    assert message_id(an_alert(at_us=1)) == message_id(an_alert(at_us=2)) == "no_active_workers:all:17-firing"
    assert message_id(an_alert(state="resolved")) == "no_active_workers:all:17-resolved"


@pytest.mark.parametrize(
    "key", ["a.b", "a b", "a\r\nX: b", "ü", "\ud800", "k" * 101, "", "token=abcdef", "sk-" + "a" * 30]
)
def test_a_key_that_no_header_may_hold_has_an_id_of_its_own(key: str) -> None:
    assert re.fullmatch(r"alert_[0-9a-f]{32}-firing", message_id(an_alert(key=key)))
    assert message_id(an_alert(key=key)) == message_id(an_alert(key=key))
    assert message_id(an_alert(key=key)) != message_id(an_alert(key=f"{key}."))
