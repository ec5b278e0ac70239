"""Messages quote what they were given, and of much no more than its beginning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.domain.errors import PenstockError
from penstock.domain.ids import check_id
from penstock.domain.options import Concurrency, RateLimit, Tenant, Unique, check_by, check_reason, make_options
from penstock.domain.schedule.timing import make_timing
from penstock.domain.texts import brief
from penstock.engines import parse_address
from penstock.worker.settings import make_settings

LONG = "x" * 200_000
MESSAGE_CHARS_MAX = 1000
REFUSED: list[Callable[[], Any]] = [
    *(lambda name=name: make_options(**{name: LONG}) for name in (
        "queue", "capability", "priority", "attempts", "backoff", "timeout", "ttl", "remove_on_fail", "no_worker",
        "resources", "tenant", "tags", "unique", "rate_limit", "limit", "delay", "at", "id")),
    lambda: make_options(tags=[LONG]),
    lambda: make_options(priority=10**5000),
    lambda: make_options(tenant=Tenant(LONG)),
    lambda: Unique(LONG),
    lambda: Unique("k", per=LONG),
    lambda: Unique("k", scope=LONG),  # type: ignore[arg-type]
    lambda: RateLimit(LONG, 1),
    lambda: RateLimit("k", LONG),  # type: ignore[arg-type]
    lambda: RateLimit("k", 1, per=LONG),
    lambda: Concurrency(LONG, 1),
    lambda: Concurrency("k", LONG),  # type: ignore[arg-type]
    lambda: check_by(LONG),
    lambda: check_reason(LONG),
    lambda: check_id(LONG),
    lambda: make_timing(cron=LONG),
    lambda: make_timing(every=LONG),
    lambda: make_timing(cron="0 0 * * *", timezone=LONG),
    lambda: make_settings(queues=LONG),
    lambda: make_settings(poll_interval=LONG),
    lambda: parse_address(LONG),
    lambda: parse_address(f"sqlite:///jobs.db?synchronous={LONG}"),
    lambda: parse_address(f"postgresql://host/jobs?schema={LONG}"),
    lambda: parse_address(f"postgresql://host/jobs?pool={LONG}"),
    lambda: parse_address(f"postgresql://host/jobs?timeout={LONG}"),
    lambda: parse_address(f"postgresql://host/jobs?notify={LONG}"),
    lambda: parse_address(f"postgresql://host/jobs?{LONG}=1"),
]  # fmt: skip


@pytest.mark.parametrize("refused", REFUSED)
def test_no_message_is_as_long_as_what_was_given(refused: Callable[[], Any]) -> None:
    with pytest.raises(PenstockError) as caught:
        refused()
    assert len(str(caught.value)) <= MESSAGE_CHARS_MAX


def test_what_is_short_is_quoted_whole() -> None:
    assert brief("a'b") == repr("a'b")
    assert brief([1, "x"]) == "[1, 'x']"
    assert brief("x" * 81) == repr("x" * 80 + "…")
    assert brief(["x" * 100]) == "['" + "x" * 78 + "…"
    assert brief(10**5000) == "a int that is too long to write"
