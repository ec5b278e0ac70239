"""Measures a store on this machine: enqueueing, draining, pickup; beside the bare driver if asked.

Each figure is the median of interleaved rounds, because machines drift: compare ratios of one run only.
"""
