"""Telling of alerts: what is stored before and after, whom it is sent to, and what is told when nobody leads."""
