"""The schema and its versions, rights, and what the doctor looks at."""
