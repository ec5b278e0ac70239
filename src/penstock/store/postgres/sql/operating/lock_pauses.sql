-- Waits for the claims that are under way, and lets none begin until this transaction has ended: every claim takes a
-- lock that this one excludes, before it looks at anything. Reading the table, as a backup does, goes on.
LOCK TABLE penstock.pause IN EXCLUSIVE MODE
