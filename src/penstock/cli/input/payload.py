"""The payload of a job as it is written on a command line: a JSON object, given there or on stdin."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from penstock.domain.errors import ConfigError

IN_A_SHELL = 'in a shell put it in single quotes: \'{"to": "a@b.c"}\''
_KINDS: dict[type, str] = {list: "array", str: "string", int: "number", float: "number", bool: "boolean"}

Payload = Annotated[
    str, typer.Argument(metavar="JSON", help="The handler's parameters as a JSON object; - reads stdin.")
]


def read_payload(given: str) -> dict[str, Any]:
    """What an argument says, or stdin if that is `-`."""
    return parse_payload(sys.stdin.read() if given == "-" else given)


def parse_payload(text: str, fix: str = IN_A_SHELL) -> dict[str, Any]:
    """The JSON object in `text`, or an error that points at the place and says how to write one."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"the payload is not JSON: {error.msg} at line {error.lineno}, column {error.colno}, before "
            f"{_excerpt(text, error.pos)}; {fix}"
        ) from None
    except RecursionError:
        raise ConfigError("the payload is nested too deeply") from None
    except ValueError:
        raise ConfigError("the payload holds a number of thousands of digits: write it as a text") from None
    if not isinstance(value, dict):
        raise ConfigError(
            f"the payload is a JSON {_KINDS.get(type(value), 'value')}: give an object with the handler's parameters "
            'by name, such as \'{"to": "a@b.c"}\''
        )
    return value


def _excerpt(text: str, position: int) -> str:
    rest = text[position : position + 20]
    return repr(rest) if rest else "the end of the text"


def _refuse_constant(word: str) -> None:
    raise ConfigError(f"the payload holds {word}, which is not JSON: use null or a text")
