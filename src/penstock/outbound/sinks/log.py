"""Alerts in the log of the process that sends them, as loud as they are severe."""

from __future__ import annotations

import logging

from penstock.observe.logs import fields
from penstock.outbound.message import AlertMessage, redacted

LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "high": logging.ERROR, "critical": logging.CRITICAL}

log = logging.getLogger("penstock.alerts")


class LogSink:
    def __init__(self, name: str = "log") -> None:
        self.name = name

    def send(self, message: AlertMessage) -> None:
        told = redacted(message)
        level = LEVELS[told.severity] if told.state == "firing" else logging.INFO
        tags = [f"{name}={value}" for name, value in told.tags.items()]
        log.log(
            level, "%s (%s %s): %s: %s", told.state, told.rule, told.scope, told.title, told.message,
            extra=fields(f"alert.{told.state}", rule=told.rule, scope=told.scope, severity=told.severity,
                         alert=told.key, since_us=told.since_us, value=told.value, tags=tags or None),
        )  # fmt: skip
