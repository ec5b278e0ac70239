"""Runs attempts: what is around a handler, on the loop, in threads and in batches."""
