"""The code that an error carries: what a program can compare, where the message is for people.

The attributes are somebody else's code, which may raise anything; nothing of that gets out of here.
"""

from __future__ import annotations

from penstock.domain.failure.http_errors import attribute, http_status

NAMES = ("code", "errno", "sqlstate", "pgcode")
CODE_CHARS_MAX = 100
CODE_NUMBER_MAX = 10**18


def error_code(error: BaseException) -> str | None:
    """The first of its `code`, `errno` and `sqlstate` that is a number or a short text, else its HTTP status.

    Not of an exit, whose code is what the process would end with, or what it would print.
    """
    if isinstance(error, SystemExit):
        return None
    for name in NAMES:
        code = _as_code(attribute(error, name))
        if code is not None:
            return code
    status = http_status(error)
    return None if status is None else str(status)


def _as_code(value: object) -> str | None:
    """Numbers and texts, also those of enumerations. A method, such as `code()`, is not called."""
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int):
            number = int.__int__(value)
            return str(number) if abs(number) <= CODE_NUMBER_MAX else None
        if isinstance(value, str):
            text = str.__str__(value)
            return text if 0 < len(text) <= CODE_CHARS_MAX and text.isprintable() else None
    except BaseException:  # A value of somebody else's making.
        pass
    return None
