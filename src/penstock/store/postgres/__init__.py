"""The PostgreSQL engine: many machines on one database."""
