"""What a running system tells about itself: what happens to jobs, and who observes it; logs, health, the doctor."""
