"""What a command's end looks like from outside: exit codes, one line per error, no traceback for what is expected."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

import typer

from penstock.cli.output.say import say, say_error
from penstock.cli.running.interrupt import RaisingInterrupts
from penstock.domain.errors import ConfigError, PenstockError, UsageError
from penstock.program.codes import FAILED, INTERRUPTED, WRONG_USE

P = ParamSpec("P")
R = TypeVar("R")


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """The command with its errors turned into exit codes. A closed pipe is the reader's choice, not an error."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with RaisingInterrupts():
                return command(*args, **kwargs)
        except PenstockError as error:
            fail(str(error), WRONG_USE if isinstance(error, (ConfigError, UsageError)) else FAILED)
        except BrokenPipeError:
            discard_stdout()
            raise typer.Exit(0) from None
        except UnicodeEncodeError:
            fail("an argument, or what was read, is not text: it holds bytes that are not UTF-8", WRONG_USE)
        except KeyboardInterrupt as interrupt:
            # What was cut off may say what is worth knowing, such as the ids of jobs that may have been stored.
            for note in getattr(interrupt, "__notes__", ()):
                say(note, err=True)
            raise typer.Exit(INTERRUPTED) from None

    return run


def fail(message: str, code: int = FAILED) -> NoReturn:
    """Say in one red line what is wrong, and leave."""
    say_error(f"error: {' '.join(message.split(chr(10)))}")
    raise typer.Exit(code) from None


def discard_stdout() -> None:
    """Nobody reads any more: let what is still buffered go nowhere, also at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.__stdout__.fileno() if sys.__stdout__ else 1)
    finally:
        os.close(nowhere)
