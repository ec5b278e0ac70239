"""What every chaos process does first: speak to its log, and end when whoever started it is gone."""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sys
import threading

FORM = "%(asctime)s.%(msecs)03d %(levelname)s %(name)s: %(message)s"


def prepare() -> None:
    logging.basicConfig(level=logging.INFO, format=FORM, datefmt="%H:%M:%S", stream=sys.stdout)
    faulthandler.register(signal.SIGUSR1, sys.stdout)
    threading.Thread(target=_end_with_the_harness, daemon=True).start()


def _end_with_the_harness() -> None:
    """Standard input is a pipe that only the harness holds: it ends when that ends, even by SIGKILL."""
    os.read(0, 1)
    os._exit(1)
