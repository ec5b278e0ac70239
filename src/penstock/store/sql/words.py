"""The words of the domain in statements: `{DEAD}` is the code of a final state, `{RUNNING}` and `{CANCEL}` the quoted
word of another state and of an event. They are put in when a statement is loaded; a test finds those that are bare.
"""

from __future__ import annotations

import re

from penstock.domain.job import FINAL, Event, State, StateCode

WORDS: dict[str, str] = {
    **{event.name: f"'{event}'" for event in Event},
    **{state.name: f"'{state}'" for state in State if state not in FINAL},
    **{code.name: str(int(code)) for code in StateCode},
}

_WORD = re.compile(r"\{([A-Z_]+)\}")


def with_words(text: str) -> str:
    return _WORD.sub(lambda found: WORDS[found[1]], text)
