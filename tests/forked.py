"""Runs commands in forks of one process that has imported them: imports take most of the time of a short command.

A fork is a process of its own, with its own folder, environment, input and output, and ends as a program does. What it
does not show is the start of one: commands that run jobs (`STARTING`) and all that is on a terminal start anew.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PREPARED = ("penstock.cli", "penstock.config", "penstock.store")
NUMBER = struct.Struct("!i")
REQUEST_BYTES = 1 << 20
STARTING = frozenset({"worker", "start", "coordinator", "demo", "bench"})
"""Commands that start processes, or run until they are told to end."""


class Ended(NamedTuple):
    code: int
    out: str
    err: str


class Forks:
    """The process that forks. It ends with the one that has started it, however that ends."""

    def __init__(self, env: dict[str, str], *options: str) -> None:
        """With options of the interpreter."""
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *options, "-m", "tests.forked", str(theirs.fileno())],
                env=env, cwd=Path(__file__).parents[1], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def run(self, args: Sequence[str], folder: Path, env: dict[str, str], stdin: str, timeout: float) -> Ended:
        request = json.dumps({"args": list(args), "folder": str(folder), "env": env}).encode()
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            given, out, err = files
            given.write(stdin.encode())
            given.seek(0)
            self._socket.settimeout(timeout)
            socket.send_fds(self._socket, [request], [file.fileno() for file in files])
            (pid,) = NUMBER.unpack(self._socket.recv(NUMBER.size))
            try:
                (code,) = NUMBER.unpack(self._socket.recv(NUMBER.size))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise
            said = []
            for file in (out, err):
                file.seek(0)
                said.append(file.read().decode().replace("\r\n", "\n"))
        return Ended(code, *said)

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


def import_all() -> None:
    for name in PREPARED:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def serve(requests: socket.socket) -> list[str] | None:
    """Returns in each fork, with the arguments of its command, and once in the process that forks, with None."""
    while True:
        asked, files, _, _ = socket.recv_fds(requests, REQUEST_BYTES, 3)
        if not asked:
            return None
        request = json.loads(asked)
        pid = os.fork()
        if not pid:
            requests.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            os.chdir(request["folder"])
            os.environ.clear()
            os.environ.update(request["env"])
            sys.path[0] = request["folder"]
            arguments: list[str] = request["args"]
            return arguments
        for file in files:
            os.close(file)
        requests.send(NUMBER.pack(pid))
        requests.send(NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))


def main() -> None:
    import_all()
    gc.collect()
    gc.freeze()  # What is never looked at is never copied.
    arguments = serve(socket.socket(fileno=int(sys.argv[1])))
    if arguments is None:
        return
    from penstock import __main__

    sys.argv = [__main__.__file__, *arguments]
    code: object = 1
    try:
        __main__.main()
        code = 0
    except SystemExit as left:
        code = left.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    end(code)


def end(code: object) -> None:
    """As the interpreter would, but for taking down, one by one, all that was imported."""
    if not isinstance(code, int | None):
        sys.stderr.write(f"{code}\n")
        code = 1
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    main()
