"""Ends private servers and removes their folder once the process that started them is gone, however it went.

A program of its own: `watcher.py FOLDER UID GID`. Its standard input is a pipe whose other end only the watched
process holds, so the pipe ends when that process ends, even by SIGKILL. It finds the servers by their working
directory, never by a remembered process id, and so cannot hit a stranger. Where there is no /proc it only removes the
folder: PostgreSQL looks for its folder every minute and stops without it.
"""

from __future__ import annotations

import ctypes
import glob
import os
import shutil
import signal
import sys
import time

PATIENCE = 10.0
REMOVE_SEGMENT = 0  # IPC_RMID


def main(folder: str, uid: int, gid: int) -> None:
    was_root = os.geteuid() == 0 and hasattr(os, "setresuid")
    if os.geteuid() == 0:
        # Only the same user may always see where a process works; and what root removes by mistake is gone.
        os.setgroups([])
        os.setgid(gid)
        os.setresuid(uid, uid, 0) if was_root else os.setuid(uid)
    os.chdir("/")
    sys.stdin.buffer.read()
    end_processes(folder)
    free_shared_memory(folder)
    remove(folder)
    if was_root:  # The folder itself is empty now, and may be where only root may remove it.
        os.seteuid(0)
        remove_empty(folder)


def end_processes(folder: str) -> None:
    """Ask them to stop at once, and after a while make them."""
    give_up = time.monotonic() + PATIENCE
    asked: set[int] = set()
    while pids := working_in(folder):
        for pid in pids:
            if time.monotonic() > give_up:
                send(pid, signal.SIGKILL)
            elif pid not in asked:
                asked.add(pid)
                send(pid, signal.SIGQUIT)
                send(pid, signal.SIGCONT)  # A stopped process hears of it only when it goes on.
        time.sleep(0.02)


def working_in(folder: str) -> list[int]:
    """The processes whose working directory is the folder or inside it; those that have ended have none."""
    found = []
    for link in glob.glob("/proc/[0-9]*/cwd"):
        try:
            place = os.readlink(link)
        except OSError:
            continue
        if place == folder or place.startswith(folder + "/"):
            found.append(int(link.split("/")[2]))
    return found


def remove(folder: str) -> None:
    """All that is in it; and the folder itself, unless only whoever made it may remove it from where it is."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    remove_empty(folder)


def remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except (PermissionError, FileNotFoundError):
        pass


def send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def free_shared_memory(folder: str) -> None:
    """A postmaster that was killed leaves a small segment behind, and its number in the seventh line of its file."""
    for path in glob.glob(folder + "/*/postmaster.pid"):
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        if len(lines) > 6 and len(words := lines[6].split()) == 2:
            ctypes.CDLL(None).shmctl(int(words[1]), REMOVE_SEGMENT, None)


if __name__ == "__main__":
    main(os.path.realpath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
