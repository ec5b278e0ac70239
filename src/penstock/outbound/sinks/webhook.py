"""Alerts as webhooks: JSON in the form of the Standard Webhooks specification, signed when there is a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.domain.clock import Clock, from_us
from penstock.outbound.door import TIMEOUT_SECONDS, Door
from penstock.outbound.message import AlertMessage, message_id, redacted
from penstock.outbound.signing import Signer
from penstock.system.clock import SystemClock


class WebhookSink:
    """`headers` are sent too, such as one that a receiver asks for; those of the signature are not to be changed."""

    def __init__(
        self,
        door: Door,
        url: str,
        *,
        secrets: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        name: str = "webhook",
        timeout: float = TIMEOUT_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        door.check(url)
        self.name = name
        self._door = door
        self._url = url
        self._signer = Signer(secrets) if secrets else None
        self._headers = {given.lower(): value for given, value in (headers or {}).items()}
        self._timeout = timeout
        self._clock = clock or SystemClock()

    def send(self, message: AlertMessage) -> None:
        body = msgspec.json.encode(_document(redacted(message)))
        id = message_id(message)
        ours = {"content-type": "application/json", "webhook-id": id}
        signed = self._signer.headers(id, body, self._clock.now_us()) if self._signer else {}
        answer = self._door.post(self._url, body, {**self._headers, **ours, **signed}, timeout=self._timeout)
        answer.expect_success()


def _document(told: AlertMessage) -> dict[str, object]:
    return {
        "type": f"alert.{told.state}",
        "timestamp": from_us(told.at_us),
        "data": {**msgspec.structs.asdict(told), "since": from_us(told.since_us)},
    }
