-- The worker as it is stored, once for each token that is lost, or that a person asked to stop; or once without any.
-- Leases are looked up one by one: a join of many could read the whole table.
SELECT worker.status, worker.slots, told.token, told.lost
FROM (SELECT 1) AS one
LEFT JOIN penstock.worker ON worker.session = %(session)s::bigint
LEFT JOIN (
    SELECT held.token, lease.token IS NULL AS lost
    FROM unnest(%(tokens)s::bigint[]) AS held (token)
    LEFT JOIN LATERAL (SELECT * FROM penstock.lease WHERE lease.token = held.token LIMIT 1) AS lease ON true
    WHERE lease.token IS NULL OR lease.cancel
) AS told ON true
