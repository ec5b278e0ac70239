"""The parts of benchmarks/peers.py: penstock beside other job queues, on one machine and in one run."""
