SELECT session, id FROM penstock_worker
WHERE (status IN ('active', 'draining') AND heartbeat_at < :before)
    OR (status IN ('inactive', 'lost') AND session IN (SELECT session FROM penstock_lease))
