"""An alert as it is sent: what every sink is given, and what of it may leave the house."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from penstock.domain.failure.secrets import HIDDEN, is_secret_name
from penstock.observe.redaction import redact

Severity = Literal["info", "warning", "high", "critical"]
AlertState = Literal["firing", "resolved"]

NAME_CHARS_MAX = 200
TITLE_CHARS_MAX = 300
MESSAGE_CHARS_MAX = 4_000
TAGS_MAX = 20

_ID = re.compile(r"[A-Za-z0-9_:-]{1,100}")


class AlertMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to tell of one alert. `key` names this occurrence of it, from firing to resolved, for ever."""

    rule: str
    scope: str
    severity: Severity
    state: AlertState
    title: str
    message: str
    since_us: int
    at_us: int
    key: str
    tags: Mapping[str, str] = {}
    value: float | None = None


def message_id(message: AlertMessage) -> str:
    """The same for each try to send it, so that a receiver knows it again. That it is over is a message of its own."""
    if _ID.fullmatch(message.key) and redact(message.key) == message.key:
        return f"{message.key}-{message.state}"
    digest = hashlib.sha256(message.key.encode("utf-8", "backslashreplace")).hexdigest()
    return f"alert_{digest[:32]}-{message.state}"


def redacted(message: AlertMessage) -> AlertMessage:
    """Without what looks like a secret, or is one to the app, and no longer than anybody reads."""
    return msgspec.structs.replace(
        message,
        rule=_text(message.rule, NAME_CHARS_MAX),
        scope=_text(message.scope, NAME_CHARS_MAX),
        title=_text(message.title, TITLE_CHARS_MAX),
        message=_text(message.message, MESSAGE_CHARS_MAX),
        key=_text(message.key, NAME_CHARS_MAX),
        tags=_tags(message.tags),
    )


def _tags(tags: Mapping[str, str]) -> dict[str, str]:
    return {
        _text(name, NAME_CHARS_MAX): HIDDEN if is_secret_name(name) else _text(value, NAME_CHARS_MAX)
        for name, value in list(tags.items())[:TAGS_MAX]
    }


def _text(text: str, chars_max: int) -> str:
    """Halves of characters have no place in JSON: they are spelled."""
    text = redact(text).encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= chars_max else f"{text[: chars_max - 1]}…"
