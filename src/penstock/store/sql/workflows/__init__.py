"""Workflows, written once for the SQL engines: how they advance, what people do to them, how they look."""
