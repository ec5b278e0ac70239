"""What a worker and its child processes tell each other: msgpack frames on a socket pair. Never pickle."""

from __future__ import annotations

import struct
from collections.abc import Callable

import msgspec

from penstock.domain.failure.retry import Verdict
from penstock.domain.flow.gates import Gate
from penstock.domain.job import ErrorInfo
from penstock.store.contract import Claim, History, JobSpec, NewWorkflow

HEAD = struct.Struct(">I")


class OtherType(msgspec.Struct, array_like=True):
    name: str
    module: str
    follow_ups: int


class Start(msgspec.Struct, tag=True):
    """The first word to a child: where the app is, and when to leave."""

    path: list[str]
    app: tuple[str, str]
    modules: list[str]
    types: list[str]
    follow_ups: list[int]
    """How many follow-ups each of the types declares."""
    others: list[OtherType] = []
    """What else it should be able to run, if it can: isolated attempts of other types."""
    max_jobs: int | None = None
    max_memory: int | None = None
    log: tuple[str, str] | None = None
    history: History = "default"
    refusal: str | None = None
    """Why the child must not use the app's own store, if it must not."""


class Work(msgspec.Struct, tag=True):
    """One call of a handler: several claims for a batch handler, otherwise one."""

    claims: list[Claim]
    started_us: int
    seconds: float | None


class Leave(msgspec.Struct, tag=True):
    """Close what the lifespan opened, and end."""


class Ready(msgspec.Struct, tag=True):
    """The child has loaded the app; or could not, for this reason. Of the other types, why it cannot run these."""

    problem: str | None = None
    missing: dict[str, str] = {}


class Said(msgspec.Struct, tag=True):
    """Progress of the claim with this token. Late words of an earlier one are nobody's."""

    token: int
    progress: str


class Finishing(msgspec.Struct, tag=True):
    """The handler of the claim with this token is about to store its completion, with this result in JSON, in a
    transaction of its own: from now on the token may be gone because of that.
    """

    token: int
    result: str | None


class FollowUpCall(msgspec.Struct):
    payload: str
    spec: JobSpec
    job_id: str | None
    gates: tuple[Gate, ...] = ()


class Done(msgspec.Struct, tag=True):
    """A success. The result is JSON."""

    result: str | None
    progress: str | None
    follow_ups: list[FollowUpCall]
    finished: bool = False
    """Whether the handler has stored its completion in a transaction of its own."""
    workflows: list[NewWorkflow] = []


class Raised(msgspec.Struct, tag=True):
    """What the handler raised, judged where the exception was at hand."""

    info: ErrorInfo
    verdict: Verdict
    progress: str | None
    finished: bool = False


class Answer(msgspec.Struct, tag=True):
    """The outcome of each claim, in their order. A child that is `leaving` takes no more work."""

    outcomes: list[Done | Raised]
    leaving: bool = False


ToChild = Start | Work | Leave
FromChild = Ready | Said | Finishing | Answer

_encoder = msgspec.msgpack.Encoder()
to_child = msgspec.msgpack.Decoder(ToChild)
from_child = msgspec.msgpack.Decoder(FromChild)


def frame(message: ToChild | FromChild) -> bytes:
    body = _encoder.encode(message)
    return HEAD.pack(len(body)) + body


class Frames:
    """Cuts a stream of bytes into frames."""

    def __init__(self, heard: Callable[[bytes], None]) -> None:
        self._heard = heard
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= HEAD.size:
            end = HEAD.size + HEAD.unpack_from(self._buffer)[0]
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[HEAD.size : end])
            del self._buffer[:end]
            self._heard(body)
