-- The worker as it is stored, once for each token that is lost, or that a person asked to stop; or once without any.
SELECT worker.status, worker.slots, told.token, told.lost
FROM (SELECT 1) AS one
LEFT JOIN penstock_worker AS worker ON worker.session = :session
LEFT JOIN (
    SELECT held.value AS token, lease.token IS NULL AS lost
    FROM json_each(:tokens) AS held
    LEFT JOIN penstock_lease AS lease ON lease.token = held.value
    WHERE lease.token IS NULL OR lease.cancel
) AS told
