-- The tokens that are still current, those of them that a person asked to stop, and the worker as it is stored.
SELECT
    ARRAY (SELECT token FROM penstock.lease WHERE token = ANY (%(tokens)s::bigint[])),
    ARRAY (SELECT token FROM penstock.lease WHERE token = ANY (%(tokens)s::bigint[]) AND cancel),
    worker.status,
    worker.slots
FROM (SELECT 1) AS one
LEFT JOIN penstock.worker ON worker.session = %(session)s::bigint
