"""The certificate is that of the name in the URL, and no other, whatever address is connected to."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.domain.errors import ConfigError, OutboundFailed
from penstock.domain.failure.transient import is_transient
from penstock.outbound.door import Door
from tests.outbound.receiver import AUTHORITY, Names, answer, receiver, rows

HERE = Names(rows("127.0.0.1"))


def test_a_name_with_its_certificate_and_told_to_the_server() -> None:
    door = Door(allow_private=True, resolve=HERE, authorities=AUTHORITY)
    with receiver(answer(204, b""), tls=True) as server:
        got = door.post(f"https://receiver.test:{server.port}/path", b"body", {})
        assert got.status == 204
        assert door.post(f"https://Receiver.test.:{server.port}/path", b"body", {}).ok
        assert server.names == ["receiver.test", "receiver.test"]
        assert server.requests[0].startswith(b"POST /path HTTP/1.1\r\nHost: receiver.test")


@pytest.mark.parametrize("host", ["other.test", "test", "sub.receiver.test", "127.0.0.1", "2130706433"])
def test_another_name_is_refused_before_anything_is_sent(host: str) -> None:
    """Also where anything inside is allowed: a caller can add authorities, and cannot take the check away."""
    door = Door(allow_private=True, resolve=HERE, authorities=AUTHORITY)
    with receiver(tls=True) as server:
        with pytest.raises(OutboundFailed, match="certificate is not accepted") as caught:
            door.post(f"https://{host}:{server.port}/", b"", {})
        assert server.requests == []
    assert not is_transient(caught.value)


def test_an_authority_that_nobody_knows_is_refused() -> None:
    with receiver(tls=True) as server:
        with pytest.raises(OutboundFailed, match=r"certificate is not accepted \(.*certificate") as caught:
            Door(allow_private=True, resolve=HERE).post(f"https://receiver.test:{server.port}/", b"", {})
        assert server.requests == []
    assert not is_transient(caught.value)


def test_a_server_without_tls() -> None:
    plain = answer(400, b"The plain HTTP request was sent to HTTPS port")
    with receiver(at_once=plain) as server, pytest.raises(OutboundFailed, match="could not be connected to") as caught:
        Door(allow_private=True).post(f"https://127.0.0.1:{server.port}/", b"", {})
    assert not is_transient(caught.value)


def test_a_server_that_hangs_up_in_the_midst_of_tls_may_be_tried_again() -> None:
    with receiver(at_once=b"") as server, pytest.raises(OutboundFailed) as caught:
        Door(allow_private=True).post(f"https://127.0.0.1:{server.port}/", b"", {})
    assert is_transient(caught.value)


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_authorities_that_cannot_be_read(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "authority.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match="name a file in PEM"):
        Door(authorities=str(file))
