-- The oldest that are in no row yet; nobody else adds them.
SELECT entry, at, tally FROM penstock.page WHERE NOT folded ORDER BY entry LIMIT %(limit)s::bigint
FOR UPDATE
