"""What a running system tells about itself: logs, health, the doctor; metrics and events to come."""
