"""A transaction of the caller's: who is in one, and what is wrong with it, in the same words on every engine."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol, cast

from penstock.domain.errors import UsageError
from penstock.store.contract import Store, Transactions


class Block(Protocol):
    """A transaction() block of the caller's, which may have ended in another thread than it began in."""

    @property
    def path(self) -> str: ...

    @property
    def is_open(self) -> bool: ...


inside: ContextVar[Block | None] = ContextVar("penstock_transaction", default=None)
"""The block that the caller is in: what waits for its end outside of it would wait for itself."""


def is_inside(path: str) -> bool:
    block = inside.get()
    return block is not None and block.is_open and block.path == path


CLOSED_INSIDE = "close() inside transaction() would wait for itself: close the store after the block"
ENDED = "this transaction has ended; open another with app.transaction()"
ENDED_INSIDE = (
    "this transaction was ended inside of its block, by a COMMIT or a ROLLBACK: what was done in it before is stored "
    "or not, as that said; leave both to the end of the block, and raise an error to undo all of it"
)
FAILED_INSIDE = (
    "nothing of this transaction is stored: one of its statements failed, after which it can only be rolled back; "
    "let the error leave the block, or put a statement that may fail between SAVEPOINT and ROLLBACK TO SAVEPOINT"
)


def transactions_of(store: Store) -> Transactions:
    """What a store has of transactions, or an error: only SQL engines have any."""
    if not hasattr(store, "transaction"):
        raise UsageError(
            f"{store.address}: jobs in this store cannot be part of a transaction of yours; use a SQLite file or "
            "PostgreSQL for that"
        )
    return cast(Transactions, store)
