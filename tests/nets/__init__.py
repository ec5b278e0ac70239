"""Nets: whatever two operations do to one store at once is done on a real server, and one list of what must hold is
checked after each. `python -m tests.nets interleavings --all` runs all there is.
"""
