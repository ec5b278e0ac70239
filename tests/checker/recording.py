"""A store that tells a log what was asked of it and what it answered.

An error that means that nothing was stored is a `fail`; after all others, and without an answer, nobody knows. What
joins a transaction is answered when that ends.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Generic, TypeVar, cast

from penstock.domain.errors import CommitUncertain, PenstockError
from penstock.store.call import Call
from penstock.store.contract import SqlStore, Transaction
from tests.checker.events import Phase
from tests.checker.log import Log, MemoryLog
from tests.checker.words import WORDS, Tokens, Words

__all__ = ["Log", "MemoryLog", "RecordingStore"]

T = TypeVar("T")


def RecordingStore(store: SqlStore, log: Log) -> SqlStore:  # noqa: N802 — reads as what it makes
    """The same store, which tells the log about everything that changes jobs, workers or the lead."""
    return cast(SqlStore, _Recording(store, log))


class _Recording:
    """Hands on everything; the methods that WORDS knows are recorded."""

    def __init__(self, store: SqlStore, log: Log) -> None:
        self._store = store
        self._log = log
        self._tokens: Tokens = {}
        self._joined: dict[int, list[_Question]] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        words = WORDS.get(name)
        if words is None:
            return found

        def method(params: Any) -> Call[Any]:
            question = _Question(self._log, self._tokens, name, words, params)
            transaction = getattr(params, "transaction", None)
            if transaction is None:
                return _RecordedCall(found(params), question, question.answered)
            return _RecordedCall(found(params), question, lambda answer: self._join(transaction, question, answer))

        return method

    # Transactions: what joins one is stored when that commits

    def _join(self, transaction: object, question: _Question, answer: Any) -> None:
        joined = self._joined.get(id(transaction))
        if joined is None:
            question.troubled("unknown", "it goes with a transaction whose end is not recorded")
        else:
            question.answer = answer
            joined.append(question)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        ending = _Ending(self._joined)
        with ending, self._store.transaction() as tx:
            ending.begin(tx)
            yield tx
            ending.said_all()

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator[Transaction]:
        ending = _Ending(self._joined)
        with ending:
            async with self._store.atransaction() as tx:
                ending.begin(tx)
                yield tx
                ending.said_all()


class _Ending:
    """Around a transaction: answers what has joined it by how it ends."""

    def __init__(self, joined: dict[int, list[_Question]]) -> None:
        self._joined = joined
        self._tx: object = None
        self._committing = False

    def begin(self, tx: object) -> None:
        self._tx = tx
        self._joined[id(tx)] = []

    def said_all(self) -> None:
        """The block has ended well; what follows is the commit."""
        self._committing = True

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        for question in self._joined.pop(id(self._tx), []):
            if error is None:
                question.answered(question.answer)
            else:
                phase = phase_of(error) if self._committing else "fail"
                question.troubled(phase, repr(error))


def phase_of(error: BaseException) -> Phase:
    """penstock's errors mean that nothing was stored, but for one; after anything else nobody knows."""
    known = isinstance(error, PenstockError) and not isinstance(error, CommitUncertain)
    return "fail" if known else "unknown"


class _Question:
    """One call as it is written down: the question, the answer, and if a leader asks, that it was a duty."""

    def __init__(self, log: Log, tokens: Tokens, method: str, words: Words, params: Any) -> None:
        self._log = log
        self._tokens = tokens
        self._method = method
        self._words = words
        self._params = params
        self._term: int | None = getattr(params, "term", None)
        self._asked_at = 0
        self._call = 0
        self.answer: Any = None

    def ask(self) -> None:
        self._call = self._log.next_call()
        self._asked_at = self._log.now_us()
        self._log.write(self._words.op, "invoke", self._call, **self._words.asked(self._params, self._tokens))
        if self._term is not None:
            self._log.write("duty", "invoke", -self._call, term=self._term, name=self._method)

    def answered(self, answer: Any) -> None:
        told = self._words.told(self._params, answer, self._tokens, self._asked_at)
        self._log.write(self._words.op, "ok", self._call, **told)
        if self._term is not None:
            self._log.write("duty", "ok", -self._call)

    def troubled(self, phase: Phase, error: str) -> None:
        self._log.write(self._words.op, phase, self._call, error=error)
        if self._term is not None:
            self._log.write("duty", phase, -self._call, error=error)


class _RecordedCall(Generic[T]):
    """A call whose two faces are recorded. Nothing is asked before one of them is used."""

    __slots__ = ("_answered", "_call", "_question")

    def __init__(self, call: Call[T], question: _Question, answered: Callable[[T], None]) -> None:
        self._call = call
        self._question = question
        self._answered = answered

    def wait(self) -> T:
        with self._troubles():
            answer = self._call.wait()
        self._answered(answer)
        return answer

    def __await__(self) -> Generator[Any, None, T]:
        with self._troubles():
            answer = yield from self._call.__await__()
        self._answered(answer)
        return answer

    @contextmanager
    def _troubles(self) -> Iterator[None]:
        self._question.ask()
        try:
            yield
        except BaseException as error:
            self._question.troubled(phase_of(error), repr(error))
            raise
