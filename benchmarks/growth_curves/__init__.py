"""The parts of benchmarks/growth.py: how the cost per job grows, on both engines, and plots of it."""
