"""Where a worker serves its health, as a person writes it: HOST:PORT, or off."""

from __future__ import annotations

import re

from penstock.domain.errors import ConfigError

OFF = "off"
ANYWHERE = "127.0.0.1:0"
"""Of this machine only, on a port that is free."""
PORT_MAX = 65535

_PLACE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})")


def check_health(value: object, name: str) -> str:
    """The address as it is written, or an error that names what is wrong with it."""
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and text.lower() in (OFF, "none"):
        return OFF
    found = _PLACE.fullmatch(text) if isinstance(text, str) else None
    if found is None or int(found["port"]) > PORT_MAX:
        raise ConfigError(
            f"{name}={value!r} is not possible: write HOST:PORT, such as 127.0.0.1:8080 for this machine only, "
            "0.0.0.0:8080 for all, port 0 for any that is free, or off"
        )
    return found[0]


def split(place: str) -> tuple[str, int]:
    """Host and port of a checked address."""
    host, _, port = place.rpartition(":")
    return host.strip("[]"), int(port)


def joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def of_process(place: str, number: int) -> str:
    """The address of the n-th of several worker processes (the first is 1): each has the next port."""
    if place == OFF or split(place)[1] == 0:
        return place
    host, first = split(place)
    port = first + number - 1
    if port > PORT_MAX:
        raise ConfigError(
            f"worker.health={place!r} leaves no port for worker process {number}, since each takes the next one: "
            f"begin at most at {PORT_MAX - number + 1}, or use port 0"
        )
    return joined(host, port)
