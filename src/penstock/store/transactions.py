"""What is wrong with a transaction of the caller's, in words that are the same on every engine."""

from __future__ import annotations

ENDED = "this transaction has ended; open another with app.transaction()"
ENDED_INSIDE = (
    "this transaction was ended inside of its block, by a COMMIT or a ROLLBACK: what was done in it before is stored "
    "or not, as that said; leave both to the end of the block, and raise an error to undo all of it"
)
FAILED_INSIDE = (
    "nothing of this transaction is stored: one of its statements failed, after which it can only be rolled back; "
    "let the error leave the block, or put a statement that may fail between SAVEPOINT and ROLLBACK TO SAVEPOINT"
)
