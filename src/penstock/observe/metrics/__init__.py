"""Metrics for Prometheus: the list of them, where their values come from, how they are added up and written (O1)."""
