-- Those that are in no row yet.
SELECT at, tally FROM penstock_page
WHERE folded = 0 AND at >= :since AND at < :until
ORDER BY entry
