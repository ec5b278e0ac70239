"""When something is due: cron and intervals in time zones, and spreads."""
