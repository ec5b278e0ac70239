"""Nets: whatever two operations do to one store at once is done on a real server and on a real file, power is cut at
each write, and one list of what must hold is checked after each. `python -m tests.nets interleavings --all`, `writes
--all` and `power --all` run all there is.
"""
