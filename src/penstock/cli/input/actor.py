"""Who acts, for the audit and for colleagues who wonder who has paused a queue."""

from __future__ import annotations


def whoami() -> str:
    """The user and the machine, as far as they are known."""
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # A container may run as a number that has no name.
        user = "operator"
    return f"{user}@{socket.gethostname()}"
