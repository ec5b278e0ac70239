"""A run that forbids skips fails when a test was skipped or expected to fail, and only then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidy.tree import ROOT

PASSES = "def test_passes(): pass\n"
SKIPS = {
    "skip": f"import pytest\n{PASSES}\n@pytest.mark.skip\ndef test_skipped(): pass\n",
    "skip inside": f"import pytest\n{PASSES}\ndef test_skipped(): pytest.skip('no')\n",
    "skip a module": "import pytest\npytest.skip('no', allow_module_level=True)\n",
    "expected failure": f"import pytest\n{PASSES}\n@pytest.mark.xfail\ndef test_fails(): assert False\n",
}


def run(folder: Path, test: str, forbid: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(ROOT / "tests" / "conftest.py", folder / "conftest.py")
    (folder / "test_sample.py").write_text(test)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        env={**os.environ, "PENSTOCK_NO_SKIPS": forbid, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("how", SKIPS)
def test_a_skip_fails_the_run(how: str, tmp_path: Path) -> None:
    done = run(tmp_path, SKIPS[how], "1")
    assert done.returncode in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED), done.stderr
    assert "which this run forbids" in done.stdout


def test_a_run_without_skips_passes(tmp_path: Path) -> None:
    assert run(tmp_path, PASSES, "1").returncode == 0


def test_elsewhere_a_skip_is_only_a_skip(tmp_path: Path) -> None:
    assert run(tmp_path, SKIPS["skip"], "0").returncode == 0
