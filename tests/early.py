"""Imported first by a command of the tests: Ctrl-C ends it without a word while it still imports what it needs. Not
where the command is a module among others.
"""

import signal
import sys

_started = getattr(sys.modules["__main__"], "__spec__", None)
_is_ours = _started is not None and _started.name.startswith("tests.")
if _is_ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
