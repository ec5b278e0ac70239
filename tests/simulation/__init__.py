"""Deterministic simulation: real workers on the real SQLite engine, in virtual time, with faults drawn from a seed."""
