"""Schedules as people and programs see them: declared, added, listed, paused, changed."""
