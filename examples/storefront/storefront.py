"""The tour: a day of the crawler in a folder of its own, so that it can be taken again and again, beside a worker too.

Run it: python storefront.py
"""

from __future__ import annotations

from contextlib import chdir
from tempfile import TemporaryDirectory


def main() -> None:
    with TemporaryDirectory(prefix="storefront-") as folder, chdir(folder):
        from day import live  # Only here: its App opens its file in the folder where it is imported.

        live()


if __name__ == "__main__":
    main()
