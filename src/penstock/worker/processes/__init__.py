"""Child processes: for handlers that compute, and for attempts that run isolated."""
