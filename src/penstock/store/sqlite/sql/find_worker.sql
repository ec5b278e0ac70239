SELECT session, status, heartbeat_at, stale_after FROM penstock_worker
WHERE id = :id AND status IN ('active', 'draining') ORDER BY session DESC LIMIT 1
