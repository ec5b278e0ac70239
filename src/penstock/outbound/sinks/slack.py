"""Alerts in a channel of Slack, or of what takes the same: Mattermost, Rocket.Chat, Discord under …/slack.

What an alert says may come from a stranger, such as the error of a job. It must not ring for a whole channel, nor look
like a link to elsewhere.
"""

from __future__ import annotations

import re

import msgspec

from penstock.domain.clock import from_us
from penstock.outbound.door import TIMEOUT_SECONDS, Answer, Door
from penstock.outbound.message import AlertMessage, redacted

TEXT_CHARS_MAX = 3_000
"""What a block of Slack takes."""

_GAP = "\u200b"
"""A blank without a width: it parts what would be read as one."""
_TELLING = re.compile(r"@(?=\S)|:(?=//)|\](?=\()|(?<=www)(?=\.)", re.IGNORECASE)
"""What rings or links in a plain text: @channel, https://…, [text](…), www.…"""
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_WORD = re.compile(rb"[a-z]+(?:_[a-z]+){1,4}")
"""The errors of Slack, such as no_service. Whatever else is answered may quote the URL."""
_WORD_CHARS_MAX = 40


class SlackSink:
    def __init__(self, door: Door, url: str, *, name: str = "slack", timeout: float = TIMEOUT_SECONDS) -> None:
        door.check(url)
        self.name = name
        self._door = door
        self._url = url
        self._timeout = timeout

    def send(self, message: AlertMessage) -> None:
        text = harmless("\n".join(_lines(redacted(message))))
        body = msgspec.json.encode({
            "text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False,
            "blocks": [{"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}],
        })  # fmt: skip
        answer = self._door.post(self._url, body, {"Content-Type": "application/json"}, timeout=self._timeout)
        answer.expect_success(self._hint(answer))

    def _hint(self, answer: Answer) -> str:
        word = answer.body_start.strip()
        known = len(word) <= _WORD_CHARS_MAX and _WORD.fullmatch(word) and word not in self._url.encode().lower()
        return f"{word.decode()}: see the webhook in the settings of the channel" if known else ""


def harmless(text: str, chars_max: int = TEXT_CHARS_MAX) -> str:
    """The text as a chat shows it and does nothing else with it, at most so long."""
    pieces: list[str] = []
    left = chars_max - 1
    for character in _TELLING.sub(lambda found: found[0] + _GAP, text):
        piece = _ESCAPES.get(character, character)
        left -= len(piece)
        if left < 0:
            return "".join([*pieces, "…"])
        pieces.append(piece)
    return "".join(pieces)


def _lines(told: AlertMessage) -> list[str]:
    since = from_us(told.since_us).strftime("%Y-%m-%d %H:%M:%S UTC")
    return [
        f"[{told.state.upper()}] {told.severity}: {told.title}",
        told.message,
        f"rule {told.rule} · scope {told.scope} · since {since}",
        *([" · ".join(f"{name}={value}" for name, value in told.tags.items())] if told.tags else []),
    ]
