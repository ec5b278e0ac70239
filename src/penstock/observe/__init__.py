"""What a running system tells about itself: logs today; events, metrics and health to come."""
