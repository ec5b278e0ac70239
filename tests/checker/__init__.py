"""Proves what penstock promises from recorded histories: what every process asked, was told and did.

- recording.py writes them down, events.py reads them, truth.py reads what the store holds at the end;
- rules/ has one promise per rule, check.py finds the first violation, report.py prints it.
"""
