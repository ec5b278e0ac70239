-- The oldest that are in no row yet.
SELECT entry, at, tally FROM penstock_page WHERE folded = 0 ORDER BY entry LIMIT :limit
