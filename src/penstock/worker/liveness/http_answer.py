"""What is answered over HTTP: a status, and a body of some type."""

from __future__ import annotations

from http import HTTPStatus
from typing import Protocol

import msgspec


class Answer(Protocol):
    @property
    def status(self) -> HTTPStatus: ...

    @property
    def content_type(self) -> str: ...

    @property
    def body(self) -> bytes: ...


class TextAnswer(msgspec.Struct, frozen=True):
    status: HTTPStatus
    content_type: str
    body: bytes
