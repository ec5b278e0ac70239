"""Claims work: as much as the slots, the resources and the other workers leave for this one."""
