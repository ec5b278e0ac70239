"""Every example runs, and says what it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, run_python

ELSEWHERE = {"storefront/mall.py", "storefront/catalogue.py"}  # test_storefront.py runs them beside a worker.
EXPECTED = {
    "email_with_retries.py": ["sent to ada@example.org at attempt 3", "dead letter:", "'nobody' is not an address"],
    "one_job_per_store.py": [
        "lamps: at most 1 at once",
        "chairs: at most 1 at once",
        "shops at the same time: True",
        "{'completed': 63}",
    ],
    "rate_limited_api.py": ["all other work was done after", "of 50 requests", "at most 20 in a second: True"],
    "pools/pools.py": [
        "transcode: 4 completed on media\n", "embed: 4 completed on ml\n", "send_mail: 40 completed on ",
        "media: at most 2 films at once", "ml: at most 1 text at once",
    ],
    "storefront/storefront.py": [
        "chairs: 13 products\nclocks: 30 products\nlamps: 20 products\n",
        "clocks was out of order, and found at attempt 2",
        "planned: [0, 18]\n", "now: chairs, clocks, lamps; later: 15 resyncs", "jobs at once in one store: 1\n",
        "by the clock: analytics_refresh, plan_resync, store_discovery\n",
        "chairs: 13 products from 10, on average 40.0\n", "lamps: 20 products from 12, on average 59.5\n",
    ],
    "order_in_one_transaction.py": ["refused: a price of -1", "orders stored: 1\n", "order 1 is on its way: lamp"],
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    done = run_python(str(ROOT / "examples" / name), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for words in EXPECTED[name]:
        assert words in done.stdout


def test_no_example_is_left_out() -> None:
    examples = ROOT / "examples"
    found = [path for name in ("*.py", "*/*.py") for path in examples.glob(name)]
    programs = {str(path.relative_to(examples)) for path in found if "__main__" in path.read_text(encoding="utf-8")}
    assert programs == {*EXPECTED, *ELSEWHERE}
