"""Where alerts are sent to. Each sink takes out itself what must not be told; trying again is up to who sends."""

from __future__ import annotations

from typing import Protocol

from penstock.outbound.message import AlertMessage


class Sink(Protocol):
    """`name` is by what people know it."""

    @property
    def name(self) -> str: ...

    def send(self, message: AlertMessage) -> None:
        """Raises OutboundError if it is not known to have arrived."""
        ...
