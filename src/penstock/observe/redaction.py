"""What is taken out of texts before they are stored or logged: what looks like a secret, and what the app says.

One function for all of them. What an app has given with app.redact holds for the whole process, as its log does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from weakref import WeakKeyDictionary

from penstock.domain.failure.secrets import hide_secrets

Redact = Callable[[str], str]
WITHHELD = "<withheld: app.redact raised an error, see the log>"

log = logging.getLogger("penstock.redact")

_hooks: WeakKeyDictionary[object, tuple[Redact, ...]] = WeakKeyDictionary()


def add_hook(owner: object, hook: Redact) -> None:
    """Ask this function too, as long as its owner lives."""
    _hooks[owner] = (*_hooks.get(owner, ()), hook)


def redact(text: str) -> str:
    """The text as it may be stored and logged. Never raises."""
    text = hide_secrets(text)
    for hooks in list(_hooks.values()):
        for hook in hooks:
            text = _asked(hook, text)
    return text


def _asked(hook: Redact, text: str) -> str:
    """What the app makes of the text. If it fails, nothing is told of the text, also not by the error itself."""
    try:
        answer = hook(text)
    except BaseException as error:
        log.error("app.redact raised %s; the text is withheld", type(error).__name__)
        return WITHHELD
    if type(answer) is not str:
        log.error("app.redact answered a %s and not a text; the text is withheld", type(answer).__name__)
        return WITHHELD
    return answer.encode("utf-8", "backslashreplace").decode("utf-8")


def told(error: BaseException) -> str:
    """What an error says, as it may be logged."""
    try:
        text = str(error)
    except BaseException as broken:
        return f"<the exception's own str() raised {type(broken).__name__}>"
    return redact(text)


def log_error(logger: logging.Logger, level: int, error: BaseException, message: str, *args: object) -> None:
    """Log with the traceback of an error. Records with exc_info would carry the error itself, and all that it says."""
    if not logger.isEnabledFor(level):
        return
    file, line, function, _ = logger.findCaller(False, 2)
    record = logger.makeRecord(logger.name, level, file, line, message, args, None, function)
    record.exc_text = redact(_trace(error)).rstrip("\n")
    logger.handle(record)


def _trace(error: BaseException) -> str:
    import traceback

    try:
        return "".join(traceback.format_exception(error))
    except Exception:  # The error's own code runs here.
        return f"{type(error).__name__}: <its traceback cannot be told>"
