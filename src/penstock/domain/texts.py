"""Which texts every store can hold: the one rule for whatever a person or a program names or says (J2)."""

from __future__ import annotations

BRIEF_CHARS = 80
ADDRESS_CHARS = 300
DIGITS_MAX = 1_000
"""Of a number that is given as a text. Python refuses to read some thousands."""
UNSTORABLE = "no NUL and no half of a character (a lone surrogate) in it"


def is_storable(text: str) -> bool:
    """Whether any store takes it. PostgreSQL has no NUL in texts, and half of a character has no UTF-8."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_text(value: object, length_max: int) -> bool:
    """Whether it is a text of 1 to so many characters that any store takes."""
    return isinstance(value, str) and 0 < len(value) <= length_max and is_storable(value)


def brief(value: object, chars: int = BRIEF_CHARS) -> str:
    """How a message quotes what it was given: as Python writes it, and of much no more than the beginning."""
    if isinstance(value, str):
        return repr(value if len(value) <= chars else f"{value[:chars]}…")
    try:
        text = repr(value)
    except ValueError:  # A number of more digits than Python writes.
        return f"a {type(value).__name__} that is too long to write"
    return text if len(text) <= chars else f"{text[:chars]}…"


def as_number(text: str) -> int | str:
    """A text of digits as the number that it spells; all else, and what Python would not read, for a check to judge."""
    return int(text) if text.isdecimal() and len(text) <= DIGITS_MAX else text
