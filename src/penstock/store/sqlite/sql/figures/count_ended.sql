-- Those that were retried are dead letters no more. Completed ones are counted in the index alone.
SELECT state, count(*) FROM penstock_outcome WHERE state IN ({COMPLETED}, {CANCELLED}) GROUP BY state
UNION ALL
SELECT state, count(*) FROM penstock_outcome WHERE state IN ({DEAD}, {EXPIRED}) AND retried_as IS NULL GROUP BY state
