"""Signatures are those of the specification: by its example, and as its reference library reads them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from penstock import ConfigError
from penstock.outbound.signing import Signer
from penstock.system.clock import SystemClock

PLAIN = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = f"whsec_{base64.b64encode(bytes(range(32))).decode()}"


@pytest.mark.parametrize("secret", [PLAIN, f"whsec_{PLAIN}"])
def test_the_example_of_the_specification(secret: str) -> None:
    headers = Signer([secret]).headers("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', 1614265330_999_999)
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@given(st.text(st.characters(codec="utf-8")), st.binary(min_size=24, max_size=64), st.integers(1, 2**32))
def test_the_reference_library_signs_alike(text: str, key: bytes, seconds: int) -> None:
    secret = base64.b64encode(key).decode()
    signed = Signer([secret]).headers("msg_1", text.encode(), seconds * 1_000_000)["webhook-signature"]
    assert signed == Webhook(secret).sign("msg_1", datetime.fromtimestamp(seconds, UTC), text)


def test_while_a_secret_is_changed_either_is_accepted() -> None:
    body = b'{"a": 1}'
    headers = Signer([OTHER, PLAIN]).headers("msg_1", body, SystemClock().now_us())
    assert headers["webhook-signature"].count("v1,") == 2
    for secret in (PLAIN, OTHER):
        assert Webhook(secret).verify(body, headers) == {"a": 1}


@pytest.mark.parametrize("changed", ["webhook-id", "webhook-timestamp", "body", "secret"])
def test_what_was_changed_on_the_way_is_noticed(changed: str) -> None:
    now = SystemClock().now_us()
    headers = Signer([PLAIN]).headers("msg_1", b"{}", now)
    other = {"webhook-id": "msg_2", "webhook-timestamp": str(now // 1_000_000 - 1)}
    headers |= {changed: other[changed]} if changed in other else {}
    with pytest.raises(WebhookVerificationError, match="No matching signature"):
        Webhook(OTHER if changed == "secret" else PLAIN).verify(b"[]" if changed == "body" else b"{}", headers)


def test_a_secret_without_its_padding() -> None:
    key = bytes(range(25))
    padded = base64.b64encode(key).decode()
    assert padded.endswith("==")
    assert Signer([padded]).headers("a", b"", 0) == Signer([padded.rstrip("=")]).headers("a", b"", 0)


@pytest.mark.parametrize("secret", ["", "whsec_", "s3cret", "whsec_s3cret!", "c2hvcnQ=", "s3cret ü" * 9, "whsec_" * 9])
def test_a_secret_that_is_none_is_refused_and_not_quoted(secret: str) -> None:
    with pytest.raises(ConfigError, match="openssl rand -base64 32") as caught:
        Signer([PLAIN, secret])
    assert not secret or secret == "whsec_" or secret not in str(caught.value)


@pytest.mark.parametrize("secrets", [[], PLAIN])
def test_secrets_are_a_list(secrets: list[str]) -> None:
    with pytest.raises(ConfigError, match="a list of at least one secret"):
        Signer(secrets)


def test_a_signer_does_not_show_its_secret() -> None:
    assert PLAIN not in repr(Signer([PLAIN]))
