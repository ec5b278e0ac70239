"""Says that the worker is alive, and notices what is not."""
