"""Private PostgreSQL servers for tests, a pooler to put before them, and a network between that fails on demand."""
