"""The words for the end of a process."""

from __future__ import annotations

import signal

import pytest

from penstock.worker.processes.exits import describe_exit


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exit code 0"),
        (3, "exit code 3"),
        (-signal.SIGSEGV, "killed by SIGSEGV"),
        (-signal.SIGKILL, "killed by SIGKILL, perhaps out of memory"),
        (-63, "killed by signal 63"),
    ],
)
def test_an_end_is_described_in_words(code: int, words: str) -> None:
    assert describe_exit(code) == words
