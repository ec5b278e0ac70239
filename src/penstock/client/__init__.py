"""The side of programs: enqueue, follow, build workflows, change schedules."""
