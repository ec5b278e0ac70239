"""The cells of benchmarks/postgres.py, and what they share."""
