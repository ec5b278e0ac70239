"""A private Prometheus: a folder, a port of this machine and a process of its own, which ends with the test."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from types import TracebackType
from typing import Any, Self

from tests.postgres import processes
from tests.postgres.private import HOST, PrivateFolder, free_port

START_SECONDS = 60.0
SCRAPE_MS = 200


class Prometheus:
    """Runs as soon as it is made, and scrapes this target five times a second."""

    def __init__(self, target: str, rules: str = "") -> None:
        self.port = free_port()
        self._folder = PrivateFolder()
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._folder.write("penstock.rules.yml", rules)
            config = self._folder.write("prometheus.yml", _config(target))
            self._process = self._folder.start([
                program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={self._folder.path / 'data'}",
                f"--web.listen-address={HOST}:{self.port}", "--log.level=warn",
            ], self._folder.path / "prometheus.log")  # fmt: skip
            processes.wait_until(self._is_ready, "Prometheus answers", START_SECONDS)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def log(self) -> str:
        return (self._folder.path / "prometheus.log").read_text(encoding="utf-8", errors="replace")

    def query(self, expression: str) -> list[dict[str, Any]]:
        """What it answers now: each series with its labels and its value."""
        found = self._get("query", query=expression)
        result: list[dict[str, Any]] = found["result"]
        return result

    def value(self, expression: str) -> float | None:
        """Of the one series that there is."""
        found = self.query(expression)
        return float(found[0]["value"][1]) if len(found) == 1 else None

    def names(self) -> set[str]:
        """Of all that was ever scraped."""
        return set(self._get("label/__name__/values"))

    def rules(self) -> list[dict[str, Any]]:
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def close(self) -> None:
        """End it and remove its folder. May be called again."""
        if not self._folder.is_mine:
            return
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._folder.close()

    def _get(self, path: str, **query: str) -> Any:
        url = f"http://{HOST}:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.loads(answer.read())["data"]

    def _is_ready(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"Prometheus ended while it started:\n{self.log}")
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.port}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


def _config(target: str) -> str:
    return f"""
global: {{scrape_interval: {SCRAPE_MS}ms, evaluation_interval: {SCRAPE_MS}ms}}
rule_files: [penstock.rules.yml]
scrape_configs:
  - job_name: penstock
    static_configs: [{{targets: ["{target}"]}}]
"""


def promtool(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run it to its end, with a text to read."""
    command = [program("promtool"), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise RuntimeError(
            f"{name} is not installed, and this test needs it: apt-get install prometheus (Debian, Ubuntu; "
            "`make test` does it when it runs as root) or brew install prometheus (macOS)"
        )
    return found
