"""Speaking to the server: connections, statements, errors, wake-ups."""
