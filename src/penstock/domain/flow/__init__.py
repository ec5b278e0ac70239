"""What lets jobs through: routing, limits, pauses, resources, turns."""
