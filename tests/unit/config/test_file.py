"""penstock.toml: what is wrong with a file is said with its place."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.config.file import line_of, read_file
from penstock.config.load import load
from penstock.domain.errors import ConfigError

Toml = Callable[[str], Path]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[worker.rate_limits]\nstripe = { requests = 5, per = "second" }', "[worker.rate_limits] is not a table"),
        ("[worker.rate_limits.stripe]\nrequests = 5", "did you mean [rate_limits]?"),
        ("[worker.concurrency_limits]\nstore = 5", "did you mean [concurrency_limits]?"),
        ("[queue.tenant_weights]\nacme = 5", "did you mean [tenant_weights]?"),
        ('[worker.schedules.nightly]\ncron = "0 0 * * *"', "did you mean [schedules]?"),
        ('[coordinator.worker]\nid = "x"', "did you mean [worker]?"),
        ('coordinator.worker.id = "x"', "did you mean [worker]?"),
        ('[worker.retention]\ndead = "1h"', "did you mean [retention]?"),
        ("[resources]\ncpu = 1", "did you mean [worker.resources]?"),
        ("[worker.resources.health]\nmin_workers = 1", "did you mean [health]?"),
        ("[worker]\nrate_limits = 5", "did you mean rate_limits?"),
        ('[worker]\nlevel = "info"', "did you mean log.level?"),
        ('poll_interval = "1s"', "did you mean worker.poll_interval?"),
    ],
)
def test_what_is_in_the_wrong_table_is_shown_the_right_one(toml: Toml, text: str, words: str) -> None:
    toml(text)
    with pytest.raises(ConfigError, match=re.escape(words)):
        load()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("\n\n[worker]\nconcurrency = 0\n", 4, "worker.concurrency=0 is not possible: a whole number from 1 to 10000"),
        ("worker.concurrency = true", 1, "worker.concurrency=True is not possible"),
        ('[worker]\n"poll_interval" = "soon"', 2, "worker.poll_interval='soon' is not a duration"),
        ("[worker]\nresources = { cpu = -1 }\n", 2, "worker.resources.cpu=-1 is not possible"),
        ("[worker]\ntypes = [1]\n", 2, "worker.types=1 is not a usable name"),
        ("[worker]\ntypes = 5\n", 2, "worker.types=5 is not a list of names"),
        ("[worker]\ntypes = []\n", 2, "worker.types is empty"),
        ("store = 5\n", 1, "store=5 is not an address"),
        ("[log]\nformat = 1\n", 2, "log.format=1 does not exist; use one of: text, json"),
        ("[worker]\nlog_payloads = 1\n", 2, "worker.log_payloads=1 is neither true nor false"),
        (
            "[worker]\nconcurency = 5\n",
            2,
            "worker.concurency is not a key of penstock; did you mean worker.concurrency",
        ),
        ("[worker]\njob-timeout = 5\n", 2, "did you mean worker.job_timeout?"),
        ("[Worker]\nConcurrency = 5\n", 2, "did you mean worker.concurrency?"),
        ("ttl = 5\n", 1, "ttl is not a key of penstock; did you mean queue.ttl?"),
        ("[worker]\ncpu = 5\n", 2, "did you mean worker.resources.cpu?"),
        ("[nothing]\n", 1, "nothing is not a key of penstock; the keys are: store, "),
        ("\nworker = 5\n", 2, "worker=5 is one value here; it is a table: write [worker]"),
        ("\n[[worker]]\nconcurrency = 5\n", 2, "it is a table: write [worker]"),
        ("[worker.concurrency]\n", 1, "worker.concurrency is a table here; it takes one value: whole number"),
        ("[rate_limits]\na = '5/second'\n\nb = { requests = 0 }\n", 4, "rate_limits.b: rate limit 'b' of 0"),
        ("[rate_limits]\na = '5/second'\n\"shop:{shop}\" = 'x'\n", 3, "rate limit 'shop:{shop}' of 'x'"),
        ("[rate_limits.a]\nrequests = 5\n[rate_limits.b]\nrequests = 0\n", 3, "rate_limits.b: rate limit 'b' of 0"),
        ("[concurrency_limits]\na = 5\n'queue:b' = 0\n", 3, "concurrency_limits.queue:b: concurrency limit 0"),
        ("[tenant_weights]\nacme = 3\nbeta = 0\n", 3, "a weight is how many turns"),
        (
            "[schedules.a]\ncron = '* * * * *'\ntype = 'x'\n[schedules.b]\ntype = 'y'\ncron = 'never'\n",
            4,
            "cron='never'",
        ),
        ("[alerts]\nx = 1\n", 2, "alerts.x is not a key of penstock"),
        ("[alerts.rules]\nstale_jobs = false\nstale = false\n", 3, "did you mean stale_jobs?"),
        ("[alerts.rules.stale_jobs]\nthreshold = 'x'\n", 1, "alerts.rules.stale_jobs.threshold='x' is not a duration"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_line(toml: Toml, text: str, line: int, words: str) -> None:
    path = toml(text)
    with pytest.raises(ConfigError) as caught:
        load()
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("store = \n", "line 1, column 9"),
        ("[worker]\nconcurrency 5\n", "line 2, column 13"),
        ("[worker]\nconcurrency = [5\n", "line 3, column 1, the end of the file"),
        ("store = 'a'\nstore = 'b'\n", "line 2, column 12"),
    ],
)
def test_a_file_that_is_not_toml(toml: Toml, text: str, place: str) -> None:
    path = toml(text)
    with pytest.raises(ConfigError) as caught:
        load()
    assert str(caught.value).startswith(f"{path} is not TOML: ")
    assert place in str(caught.value)


def test_a_file_that_is_nested_without_end(toml: Toml) -> None:
    toml("store = " + "[" * 100_000)
    with pytest.raises(ConfigError, match="is not TOML"):
        load()


def test_a_file_that_is_not_text(folder: Path) -> None:
    (folder / "penstock.toml").write_bytes(b"# fine\nstore = '\xff'\n")
    with pytest.raises(ConfigError, match=r"penstock\.toml, line 2: this is not UTF-8 text"):
        load()


def test_a_file_as_windows_writes_it(folder: Path) -> None:
    (folder / "penstock.toml").write_bytes(b"\xef\xbb\xbf[worker]\r\nconcurrency = 7\r\n")
    assert load()["worker.concurrency"] == 7


def test_a_folder_is_not_a_file(folder: Path) -> None:
    (folder / "penstock.toml").mkdir()
    with pytest.raises(ConfigError, match=rf"{folder}/penstock\.toml is a folder"):
        load()


@pytest.mark.parametrize(("path", "why"), [("a\0b", "null byte"), ("x" * 300, "name too long")])
def test_a_file_that_cannot_be_read(path: str, why: str) -> None:
    with pytest.raises(ConfigError, match=rf"(?i)cannot be read: .*{why}"):
        load(path)


def test_a_current_folder_that_is_gone_has_no_file(folder: Path) -> None:
    gone = folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert read_file(None, "nobody") is None


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ("a = 1", "a", 1),
        ("[a.b]\n# c = 1\nc = 1", "a.b.c", 3),
        ("[ a . 'b' ] # so\n'c'=1", "a.b.c", 2),
        ("a.b = { c = 1 }", "a.b.c", 1),
        ("[x]\na = 1\n[y]\na = 1", "y.a", 4),
        ("[x]", "y", None),
    ],
)
def test_the_line_of_a_key(text: str, name: str, line: int | None) -> None:
    assert line_of(text, name) == line
