"""A slot group at work: what it has claimed and not begun, what runs in its slots, and how that is stopped."""
