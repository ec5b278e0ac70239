SELECT id FROM penstock_worker
WHERE status IN ('active', 'draining') AND heartbeat_at >= :now - stale_after ORDER BY id
