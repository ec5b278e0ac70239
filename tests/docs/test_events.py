"""The page about logs names every event that the code logs, and no other."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT
from tests.tidy.tree import SOURCE, files

EVENT = re.compile(r"[\"`]((?:alerts|coordinator|job|jobs|leader|process|schedule|trouble|worker)\.[a-z]+)[\"`]")
CALL = re.compile(
    r"(?:fields|_log|Line)\([^)]*?\"((?:alerts|coordinator|job|jobs|leader|process|schedule|trouble|worker)\.[a-z]+)\"",
    re.DOTALL,
)


def test_every_event_is_explained() -> None:
    logged = {event for path in files(".py", under=SOURCE) for event in CALL.findall(path.read_text(encoding="utf-8"))}
    rows = [line for line in (ROOT / "docs" / "logs.md").read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]
    explained = {event for row in rows for event in EVENT.findall(row.split("|")[1])}
    assert len(logged) > 10
    assert explained == logged
