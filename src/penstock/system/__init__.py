"""What only the machine can tell, for those who hand it in: its time, and numbers that nobody else draws."""
