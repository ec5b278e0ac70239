-- Tokens follow the clock: those of claims that a power failure has undone are never given out again.
UPDATE sqlite_sequence SET seq = max(seq, :now) WHERE name = 'penstock_lease'
