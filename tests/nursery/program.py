"""The process that others are forked from: `python -m tests.nursery.program`, with a socket as its standard input.

It imports what they all need, has no threads, and opens nothing. Each message is one program to run, with the files
that are to be its input and output. It is forked twice and the process between ends at once, so that it becomes a child
of the test process, which is told its number. When the other end of the socket is closed, this ends.
"""

from __future__ import annotations

import gc
import importlib
import os
import runpy
import signal
import socket
import sys

import msgspec

LIMIT = 1 << 20
ALREADY_IMPORTED = (
    "psycopg", "penstock.app", "penstock.client.client", "penstock.worker.worker", "penstock.worker.processes.pool",
    "penstock.store.sqlite.store", "penstock.store.postgres.store", "tests.checker.recording", "tests.chaos.load",
    "tests.chaos.program.clocks", "tests.chaos.program.crashes", "tests.chaos.program.disks",
    "tests.chaos.program.lifeline",
)  # fmt: skip


class Order(msgspec.Struct, frozen=True):
    """Run a file as `python FILE …` would, or a module as `python -m MODULE …`, in this environment."""

    program: str
    arguments: list[str]
    environment: dict[str, str]


def main() -> None:
    line = socket.socket(fileno=os.dup(0))
    for name in ALREADY_IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # Who looks through what all of them share would make a copy of it for itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # An interrupt from the keyboard is for the tests.
    while True:
        message, files, _, _ = socket.recv_fds(line, LIMIT, 2)
        if not message:
            return
        pid = fork_twice()
        if pid == 0:
            line.close()
            become(msgspec.json.decode(message, type=Order), files)
            return
        line.sendall(pid.to_bytes(8, "big"))
        for file in files:
            os.close(file)


def fork_twice() -> int:
    """The number of the grandchild, once its parent is gone; 0 in the grandchild."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        grandchild = os.fork()
        if grandchild != 0:
            os.write(writer, grandchild.to_bytes(8, "big"))
            os._exit(0)
    os.close(writer)
    if child != 0:
        os.waitpid(child, 0)
    told = os.read(reader, 8) if child != 0 else bytes(8)
    os.close(reader)
    return int.from_bytes(told, "big")


def become(order: Order, files: list[int]) -> None:
    """Run the program, as this process."""
    for number, file in zip((0, 1, 2), (*files, files[-1]), strict=True):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    os.environ.clear()
    os.environ.update(order.environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[:] = [order.program, *order.arguments]
    if order.program.endswith(".py"):
        sys.path[0] = os.path.dirname(order.program)
        runpy.run_path(order.program, run_name="__main__")
    else:
        runpy.run_module(order.program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
