"""Frames: whatever pieces a stream comes in, each message arrives once, whole and in order."""

from __future__ import annotations

import pytest

from penstock.domain.failure.retry import GiveUp, PutOff, RetryAt
from penstock.domain.job import ErrorInfo
from penstock.domain.options import Resources, Tenant, Unique
from penstock.store.contract import Claim, JobSpec
from penstock.worker.processes.frames import (
    Answer,
    Done,
    FollowUpCall,
    Frames,
    FromChild,
    Leave,
    Raised,
    Ready,
    Said,
    Start,
    ToChild,
    Work,
    frame,
    from_child,
    to_child,
)

CLAIM = Claim(
    token=2**62,
    id="00000000-0000-7000-8000-000000000001",
    type="work",
    queue="default",
    attempt=3,
    crashes=1,
    payload='{"text": "é ☃"}',
    policy='{"attempts": 5}',
    priority=-7,
    created_at=1_700_000_000_000_000,
    due_at=1_700_000_000_000_001,
    tenant=Tenant("acme", "eu"),
    tags=("a", "b"),
)
SPEC = JobSpec(
    type="next",
    queue="mail",
    capability="media",
    resources=Resources(cpu=1.5, memory="1Gi", gpu=1),
    priority=7,
    delay=0.25,
    at=1_700_000_000_000_000,
    policy='{"attempts": 2}',
    ttl=60.0,
    tenant=Tenant("acme"),
    tags=("c",),
    unique=Unique("key", per="1h"),
    parent="00000000-0000-7000-8000-000000000001",
)
ERROR = ErrorInfo(type="ValueError", message="no", stack="…", code="500", transient=True)

TO_CHILD: list[ToChild] = [
    Start(
        path=["/a", ""],
        app=("tasks", "app"),
        modules=["tasks"],
        types=["work"],
        follow_ups=[2],
        max_jobs=3,
        log=("info", "json"),
    ),
    Work([CLAIM, CLAIM], 1, None),
    Work([CLAIM], 1, 0.5),
    Leave(),
]
FROM_CHILD: list[FromChild] = [
    Ready(),
    Ready("no module"),
    Said(2**62, '{"percent": 1}'),
    Answer(
        [Done("x" * 2**20, '{"percent": 100}', [FollowUpCall("{}", SPEC, None), FollowUpCall("{}", SPEC, CLAIM.id)])]
    ),
    Answer(
        [
            Raised(ERROR, RetryAt(1.5), None),
            Raised(ERROR, GiveUp("enough"), "{}"),
            Raised(ERROR, PutOff(60.0, "closed"), None),
            Done(None, None, []),
        ],
        leaving=True,
    ),
]


@pytest.mark.parametrize("message", TO_CHILD, ids=lambda message: type(message).__name__)
def test_what_a_worker_says_is_what_a_child_hears(message: ToChild) -> None:
    heard: list[ToChild] = []
    Frames(lambda body: heard.append(to_child.decode(body))).feed(frame(message))
    assert heard == [message]


@pytest.mark.parametrize("message", FROM_CHILD, ids=lambda message: type(message).__name__)
def test_what_a_child_says_is_what_a_worker_hears(message: FromChild) -> None:
    heard: list[FromChild] = []
    Frames(lambda body: heard.append(from_child.decode(body))).feed(frame(message))
    assert heard == [message]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 64, 2**16, 2**30])
def test_pieces_of_any_size(size: int) -> None:
    said: list[FromChild] = [Ready(), *(Said(number, "x" * number) for number in range(50)), Answer([])]
    stream = b"".join(map(frame, said))
    heard: list[FromChild] = []
    frames = Frames(lambda body: heard.append(from_child.decode(body)))
    for start in range(0, len(stream), size):
        frames.feed(stream[start : start + size])
    assert heard == said


def test_a_part_of_a_frame_waits_for_the_rest() -> None:
    heard: list[bytes] = []
    frames = Frames(heard.append)
    data = frame(Ready())
    for end in range(len(data)):
        frames.feed(data[end : end + 1])
        assert bool(heard) is (end == len(data) - 1)
    frames.feed(b"")
    assert len(heard) == 1


def test_what_hears_a_frame_may_be_called_in_the_middle_of_a_piece() -> None:
    """A frame that cannot be understood does not make those before it come twice."""
    heard: list[bytes] = []

    def hear(body: bytes) -> None:
        heard.append(body)
        if len(heard) == 2:
            raise ValueError("cannot be understood")

    frames = Frames(hear)
    with pytest.raises(ValueError, match="understood"):
        frames.feed(frame(Ready("a")) + frame(Ready("b")) + frame(Ready("c")))
    frames.feed(b"")
    assert [from_child.decode(body) for body in heard] == [Ready("a"), Ready("b"), Ready("c")]
