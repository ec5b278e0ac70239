-- As many as that are looked at: those that were retried are dead letters no more.
SELECT count(*)
FROM (
    SELECT 1 FROM penstock.outcome
    WHERE state IN ({DEAD}, {EXPIRED}) AND retried_as IS NULL LIMIT %(limit)s::bigint
) AS found
