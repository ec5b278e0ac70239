SELECT session, slots, status, :now - heartbeat_at, stale_after FROM penstock_worker
WHERE id = :id ORDER BY session DESC LIMIT 1
