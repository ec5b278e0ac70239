-- Whether many jobs wait, without counting more of them than that.
SELECT count(*) FROM (SELECT 1 FROM penstock.waiting LIMIT %(limit)s::bigint) AS seen
