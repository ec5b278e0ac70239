"""Whether a process of this machine is gone: known, or not known, and never guessed."""

from __future__ import annotations

import os
import subprocess
import sys

from penstock.worker.liveness.identity import is_gone, own_identity

ASK = "from penstock.worker.liveness.identity import own_identity; print(own_identity(), flush=True); input()"


def test_this_process_is_there() -> None:
    assert own_identity() == own_identity()
    assert not is_gone(own_identity())


def test_one_that_ended_is_gone_also_before_it_is_reaped() -> None:
    with subprocess.Popen([sys.executable, "-c", ASK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdin is not None
        assert one.stdout is not None
        identity = one.stdout.readline().strip()
        assert not is_gone(identity)
        one.kill()
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        assert is_gone(identity)
    assert is_gone(identity)


def test_one_whose_id_another_process_has_by_now_is_gone() -> None:
    identity = own_identity()
    assert identity is not None
    place, pid, began = identity.split()
    assert is_gone(f"{place} {pid} {int(began) - 1}")


def test_what_cannot_be_known_from_here_is_not_gone() -> None:
    """Of another machine or container, or of a version that does not tell."""
    identity = own_identity()
    assert identity is not None
    place, _, began = identity.split()
    boot, namespace = place.split("/")
    assert not is_gone(f"{boot}/{int(namespace) + 1} 999999999 {began}")
    assert not is_gone(f"another{boot}/{namespace} 999999999 {began}")
    assert is_gone(f"{place} 999999999 {began}")
    assert not is_gone(None)
    assert not is_gone("nonsense")


def test_one_of_another_user_is_there() -> None:
    """The first process of the machine; whether it may be signalled or read is left open."""
    identity = own_identity()
    assert identity is not None
    if os.getpid() != 1:
        place = identity.split()[0]
        with open("/proc/1/stat", encoding="utf-8") as stat:
            began = stat.read().rpartition(")")[2].split()[19]
        assert not is_gone(f"{place} 1 {began}")
