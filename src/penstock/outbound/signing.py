"""Signatures by which a receiver knows that a webhook is from here, by the Standard Webhooks specification.

What is signed is the id, the moment and the body, by HMAC-SHA256. While a secret is changed for another, both sign, and
a receiver accepts either.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import ConfigError

PREFIX = "whsec_"
SECRET_BYTES_MIN = 24
"""What the specification asks for."""


class Signer:
    def __init__(self, secrets: Sequence[str]) -> None:
        """One secret, or several while they change: the newest first. Each is base64, with or without `whsec_`."""
        if not secrets or isinstance(secrets, str):
            raise ConfigError("a webhook is signed with a list of at least one secret")
        self._keys = tuple(map(_key, secrets))

    def headers(self, id: str, body: bytes, now_us: int) -> dict[str, str]:
        """For one try to send: the id is that of the message, the same each time, and the moment is now."""
        seconds = str(now_us // MICROSECONDS)
        signed = b".".join((id.encode("ascii"), seconds.encode("ascii"), body))
        return {
            "webhook-id": id,
            "webhook-timestamp": seconds,
            "webhook-signature": " ".join(_signature(key, signed) for key in self._keys),
        }


def _signature(key: bytes, signed: bytes) -> str:
    return f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}"


def _key(secret: str) -> bytes:
    text = secret.removeprefix(PREFIX)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) < SECRET_BYTES_MIN:
        raise ConfigError(
            f"the secret of a webhook has to be base64 of {SECRET_BYTES_MIN} bytes or more, with or without {PREFIX} "
            "before it: make one with `openssl rand -base64 32`"
        )
    return key
