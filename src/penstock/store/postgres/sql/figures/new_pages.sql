-- The oldest that are in no row yet.
SELECT entry, at, tally FROM penstock.page WHERE NOT folded ORDER BY entry LIMIT %(limit)s::bigint
