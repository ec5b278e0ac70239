"""A store whose answers are observed: each operation goes on to it, and what it says has happened is handed on.

So nobody who calls an operation can forget it. What happens as a part of a transaction of the caller's is not known to
have happened when it is answered, and is not told.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from operator import attrgetter
from typing import Any, cast

from penstock.observe.events import Events
from penstock.store.call import Call
from penstock.store.contract import Enqueued, EnqueueJobs, Store

ANSWERING = frozenset({
    "age_jobs", "cancel_job", "cancel_workflow", "change_schedules", "claim_jobs", "enqueue_workflow", "expire_jobs",
    "fail_unroutable", "finish_jobs", "give_back_jobs", "prune_jobs", "purge_dead", "recover_jobs", "register_worker",
    "retry_dead", "retry_workflow", "settle_workflows",
})  # fmt: skip
"""The operations whose answer has `happened`. What enqueue_jobs() answers has it for each job."""

_happened = attrgetter("happened")


def observed(store: Store, events: Events) -> Store:
    return cast(Store, ObservedStore(store, events))


class ObservedStore:
    def __init__(self, store: Store, events: Events) -> None:
        self._store = store
        self._events = events

    def __getattr__(self, name: str) -> Any:
        if name not in ANSWERING:
            return getattr(self._store, name)
        operation = self._observed(name)
        setattr(self, name, operation)  # The next time it is there.
        return operation

    def enqueue_jobs(self, params: EnqueueJobs) -> Call[list[Enqueued]]:
        call = self._store.enqueue_jobs(params)
        return call if params.transaction is not None else ObservedCall(call, self._hand_on_each)

    def _hand_on_each(self, answers: Sequence[Enqueued]) -> None:
        if any(map(_happened, answers)):
            self._events.happened([one for answer in answers for one in answer.happened])

    def _observed(self, name: str) -> Callable[[Any], Call[Any]]:
        def carry_out(params: Any) -> Call[Any]:
            call: Call[Any] = getattr(self._store, name)(params)
            return call if getattr(params, "transaction", None) is not None else ObservedCall(call, self._hand_on)

        return carry_out

    def _hand_on(self, answer: Any) -> None:
        self._events.happened(answer.happened)
        self._events.lost(getattr(answer, "silent", ()))


class ObservedCall:
    """A call whose answer somebody looks at."""

    __slots__ = ("_call", "_look")

    def __init__(self, call: Call[Any], look: Callable[[Any], None]) -> None:
        self._call = call
        self._look = look

    def wait(self) -> Any:
        answer = self._call.wait()
        self._look(answer)
        return answer

    def __await__(self) -> Generator[Any, None, Any]:
        answer = yield from self._call.__await__()
        self._look(answer)
        return answer
