"""Says how attempts ended, and stores it in batches."""
