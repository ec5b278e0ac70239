"""Values of each kind that a payload may hold, for the tests of payloads and of their shapes."""

from __future__ import annotations

import dataclasses
from datetime import datetime

import msgspec
import pydantic


@dataclasses.dataclass
class Point:
    x: int
    y: float | None = None


class Text(msgspec.Struct):
    words: list[str]


class Model(pydantic.BaseModel):
    at: datetime
    count: int = 1
