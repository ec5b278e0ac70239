"""What is paused, and which jobs that holds back."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from penstock.domain.flow.pauses import Pause, Pauses

MAIL, SEND = Pause("queue", "mail", 1, "ann"), Pause("type", "send", 2, "bob", "why")


class Job(NamedTuple):
    type: str
    queue: str


@pytest.mark.parametrize(
    ("job", "held_by"),
    [
        (Job("other", "mail"), (MAIL,)),
        (Job("send", "rest"), (SEND,)),
        (Job("send", "mail"), (MAIL, SEND)),
        (Job("mail", "send"), ()),
    ],
)
def test_a_job_is_held_by_its_queue_and_by_its_type(job: Job, held_by: tuple[Pause, ...]) -> None:
    assert Pauses([MAIL, SEND]).holding(job) == held_by
    assert Pauses().holding(job) == ()


def test_they_are_found_by_name() -> None:
    pauses = Pauses([MAIL, SEND])
    assert (pauses.find("queue", "mail"), pauses.find("type", "mail")) == (MAIL, None)
    assert (pauses.names("queue"), pauses.names("type")) == ({"mail"}, {"send"})
    assert (list(pauses), bool(pauses), bool(Pauses())) == ([MAIL, SEND], True, False)
    assert [str(pause) for pause in pauses] == ["queue 'mail'", "type 'send'"]
