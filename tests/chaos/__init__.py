"""Real processes on a real store, and everything that can happen to them: `make chaos`.

Every fault is a function in faults/. It starts workers and clients on a stage, does harm while they work, heals, waits
until every job has ended, and has the histories checked. Nothing here knows how penstock works inside, except where a
fault needs an exact place to strike.
"""
