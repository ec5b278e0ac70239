"""How commands run and end: errors, exit codes, interrupts, the event loop."""
