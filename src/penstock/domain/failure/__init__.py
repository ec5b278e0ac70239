"""What a failure means: whether it passes, when to try again, what of it may be told."""
