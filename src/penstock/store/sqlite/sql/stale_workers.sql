SELECT session, id FROM penstock_worker
WHERE (status IN ('active', 'draining') AND heartbeat_at < :now - max(:stale_after, stale_after))
    OR (status IN ('inactive', 'lost') AND session IN (SELECT session FROM penstock_lease))
