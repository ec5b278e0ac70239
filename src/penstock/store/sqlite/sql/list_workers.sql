SELECT
    id, host, pid, version, status, slots, started_at, heartbeat_at,
    (SELECT count(*) FROM penstock_lease AS lease WHERE lease.session = worker.session)
FROM penstock_worker AS worker
ORDER BY session DESC
LIMIT 1000
