"""Addresses without their secrets: what messages, logs and `penstock config` may show of one."""

from __future__ import annotations

import re

SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
"""The options of an address that are never shown."""

_IN_FRONT = re.compile(r"(://[^:/@]*):.*@", re.DOTALL)
_NO_PORT = re.compile(r"(://|,)([^:/?,@\[\]]*):(?!\d*(?:[,/?]|$))[^,/?]*")
_OPTION = re.compile(rf"([?&](?:{'|'.join(SECRETS)})=)[^&]*", re.IGNORECASE)


def masked(address: str) -> str:
    """The address without its secrets, also when it is misspelt: what stands where a password could be is hidden."""
    address = _IN_FRONT.sub(r"\1:***@", address)
    address = _NO_PORT.sub(r"\1\2:***", address) if "@" not in address else address
    return _OPTION.sub(r"\1***", address)
