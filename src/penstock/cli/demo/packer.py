"""A worker of the demo in a process of its own. It ends with the demo, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

WORKERS = 2


class Packers:
    """Worker processes that pack orders, one at a time each. Leaving the block ends what is left of them."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Packers:
        for number in range(WORKERS):
            worker_id = f"packer-{number + 1}"
            # Its input is a pipe that closes when this process is gone.
            self._processes[worker_id] = subprocess.Popen(
                [sys.executable, "-m", "penstock.cli.demo.packer", worker_id],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def kill(self, worker_id: str) -> int:
        """kill -9: it has no time to say anything. Answers its process id."""
        process = self._processes[worker_id]
        process.kill()
        return process.pid


def main() -> None:
    import asyncio
    import logging

    from penstock.cli.demo.shop import HEARTBEAT_SECONDS, PACKING, app

    logging.disable(logging.CRITICAL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with app:
        asyncio.run(
            app.run_worker(
                worker_id=sys.argv[1],
                types="pack_order",
                capabilities=PACKING,
                concurrency=1,
                heartbeat_interval=HEARTBEAT_SECONDS,
                recovery_interval=HEARTBEAT_SECONDS,
                leader_lease=HEARTBEAT_SECONDS,
                shutdown_timeout=0,
            )
        )


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()
