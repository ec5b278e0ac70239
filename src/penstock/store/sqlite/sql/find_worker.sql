SELECT session, status, heartbeat_at FROM penstock_worker
WHERE id = :id AND status IN ('active', 'draining') ORDER BY session DESC LIMIT 1
