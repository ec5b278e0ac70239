"""What a running system tells about itself: events, metrics, health. The layer is reserved; nothing is in it yet."""
