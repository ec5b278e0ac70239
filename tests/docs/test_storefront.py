"""Whoever types what docs/storefront.md shows, in its order, has the crawler running: the tour, the mall, a worker."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import App, State
from penstock.domain.job import FINAL, Job
from penstock.store.contract import ListJobs
from tests.cli.conftest import Program
from tests.docs.pages import PAGE_SECONDS_MAX, ROOT, blocks, commands

PAGE = ROOT / "docs" / "storefront.md"
EXAMPLE = "examples/storefront"
PROGRAMS = {"python": [sys.executable, "-W", "error"], "penstock": [sys.executable, "-W", "error", "-m", "penstock"]}
MALL, WORKER = "python mall.py", "penstock worker roles:app"
READY = {MALL: "until Ctrl-C\n", WORKER: " leads, term "}
"""What stays until Ctrl-C, and what it says when it is ready."""
BY_THE_CLOCK = {"store_discovery", "plan_resync", "analytics_refresh"}
"""How many there are of these depends on the time of day."""


class Stranger:
    """Types commands, into a terminal of its own each that stays."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("PENSTOCK_")}
        self.staying: dict[str, Program] = {}

    def type(self, line: str) -> str:
        """What the command says, up to its end or until it is ready."""
        first, *words = shlex.split(line)
        if first == "cd":
            assert words == [EXAMPLE]
            shutil.copytree(ROOT / EXAMPLE, self.folder, ignore=shutil.ignore_patterns("*.db*"), dirs_exist_ok=True)
            return ""
        if first == "export":
            self.env |= dict(word.split("=", 1) for word in words)
            return ""
        return self._stay(line, words) if line in READY else self._run([*PROGRAMS[first], *words])

    def _run(self, command: list[str]) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False,
            timeout=PAGE_SECONDS_MAX,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _stay(self, line: str, words: list[str]) -> str:
        port = ["0"] if line == MALL else []  # A free one: the usual one may be in use where this is tested.
        process = subprocess.Popen(
            [*PROGRAMS[line.split()[0]], *words, *port], cwd=self.folder, env=self.env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        program = self.staying[line] = Program(process)
        program.wait_for(READY[line])
        if line == MALL:
            self.env["STOREFRONT_DIRECTORY"] = re.findall(r"http://\S+", program.seen)[0] + "/stores.json"
        return program.seen

    def wait_until_quiet(self) -> list[Job]:
        """As a person does who looks at what the worker tells. The jobs as they are then."""
        app = App(f"sqlite:///{self.folder}/storefront.db")
        try:
            until = time.monotonic() + PAGE_SECONDS_MAX
            while True:
                found = app.store.list_jobs(ListJobs(limit=1000)).wait()
                if all(job.state in {*FINAL, State.SCHEDULED} for job in found):
                    return found
                assert time.monotonic() < until, found
                time.sleep(0.02)
        finally:
            app.close()


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Stranger]:
    made = Stranger(tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Whom a shell made deaf starts deaf programs.
    yield made
    signal.signal(signal.SIGINT, before)
    for program in made.staying.values():
        program.process.kill()
        program.process.communicate()


def test_the_tour_prints_what_the_page_says_again_and_again(stranger: Stranger) -> None:
    shown = ["\n".join(block.lines) + "\n" for block in blocks(PAGE) if block.language == "text"]
    change, tour = commands(PAGE)[:2]
    stranger.type(change)
    before = set(os.listdir(stranger.folder))
    assert [stranger.type(tour) for _ in range(3)] == shown * 3
    assert set(os.listdir(stranger.folder)) - before <= {"__pycache__"}


def test_the_commands_of_the_page_run_the_crawler(stranger: Stranger) -> None:
    said = dict[str, str]()
    for line in commands(PAGE):
        said[line] = stranger.type(line)
        found = stranger.wait_until_quiet() if WORKER in said else []
    counts = Counter((job.type, job.state) for job in found if job.type not in BY_THE_CLOCK)
    assert counts == {
        ("entry_point_discovery", State.COMPLETED): 5, ("product_discovery", State.COMPLETED): 4,
        ("product_resync", State.COMPLETED): 3, ("product_resync", State.SCHEDULED): 15,
    }  # fmt: skip
    assert {(job.type, job.state) for job in found} - set(counts) == {
        (type_, State.COMPLETED) for type_ in BY_THE_CLOCK
    }
    assert said["python catalogue.py"].splitlines() == [
        "chairs: 13 products from 10, on average 40.0",
        "clocks: 30 products from 10, on average 82.5",
        "lamps: 20 products from 10, on average 57.5",
    ]
    for line in (WORKER, MALL):
        stranger.staying[line].signal(signal.SIGINT)
        ended = stranger.staying[line].end()
        assert (ended.code, "Traceback" in ended.out) == (0, False), ended.out


def test_a_mall_whose_port_is_taken_says_what_to_do(stranger: Stranger) -> None:
    stranger.type(commands(PAGE)[0])
    port = re.findall(r"127.0.0.1:(\d+)", stranger.type(MALL))[0]
    second = subprocess.run(
        [sys.executable, "mall.py", port], cwd=stranger.folder, capture_output=True, text=True, check=False
    )
    assert (second.returncode, "Traceback" in second.stderr) == (1, False)
    assert f"port {port} cannot be used (Address already in use); name another: python mall.py " in second.stderr
    assert "STOREFRONT_DIRECTORY=http://127.0.0.1:" in second.stderr
