"""Tests of the benchmarks themselves: of their arithmetic and bookkeeping, never of how fast anything is."""
