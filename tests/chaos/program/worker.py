"""A worker of a chaos run: `python -m tests.chaos.program.worker`, with its role in the environment."""

from __future__ import annotations

import asyncio
import os

from tests.chaos.program.jobs import app
from tests.chaos.program.lifeline import prepare
from tests.chaos.program.outfit import PARENT, role


def main() -> None:
    prepare()
    os.environ[PARENT] = role.name
    try:
        asyncio.run(app.run_worker(**role.settings))
    finally:
        app.close()


if __name__ == "__main__":
    main()
