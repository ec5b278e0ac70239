"""The one door by which penstock sends HTTP requests to others, and what goes through it: alerts, by their sinks.

Whatever penstock sends goes through Door, which decides what may be connected to. It uses threads of nobody: a call
blocks for a bounded time, and callers that must not block make it in a thread of theirs.
"""
