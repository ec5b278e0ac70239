-- Those that are in no row yet.
SELECT at, tally FROM penstock.page
WHERE NOT folded AND at >= %(since)s::bigint AND at < %(until)s::bigint
ORDER BY entry
