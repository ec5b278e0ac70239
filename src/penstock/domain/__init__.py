"""The rules of jobs, as pure functions and values: no I/O, no asyncio, no clock reads."""
