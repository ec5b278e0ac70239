"""What is counted of jobs, and how durations are kept: pure, and the same for the store, metrics and capacity."""
