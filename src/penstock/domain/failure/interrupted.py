"""Tells an exception that a signal's handler raised from one of the code that it interrupted.

A handler may raise anything, in the middle of anything: an alarm that ends a request raises TimeoutError, and whoever
catches what msgspec, a type's own code or a driver may raise catches that too. It is the caller's, who waits for it by
its name, so whatever is made of a caught error is made of it only after a look in here.
"""

from __future__ import annotations

from types import FrameType, TracebackType

_CATCHERS = ("penstock", "psycopg")


def let_interrupt_out(error: BaseException) -> None:
    """Raise what a signal's handler has raised, if that is what this error is, or what it was made of."""
    found: BaseException | None = error
    while found is not None:
        if _is_of_handler(found.__traceback__):
            raise found
        found = found.__cause__ or _caught_here(found.__context__)


def _caught_here(context: BaseException | None) -> BaseException | None:
    """Not one that the caller himself was handling when he called."""
    trace = None if context is None else context.__traceback__
    if trace is None or trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in _CATCHERS:
        return None
    return context


def _is_of_handler(trace: TracebackType | None) -> bool:
    """Whether a function in it was given the very frame in which it was called: only handlers of signals are."""
    while trace is not None and trace.tb_next is not None:
        if _was_given(trace.tb_next.tb_frame, trace.tb_frame):
            return True
        trace = trace.tb_next
    return False


def _was_given(callee: FrameType, caller: FrameType) -> bool:
    return any(
        value is caller or (type(value) is tuple and any(one is caller for one in value))
        for value in callee.f_locals.values()
    )
