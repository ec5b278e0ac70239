DELETE FROM penstock_worker
WHERE status IN ('inactive', 'lost') AND heartbeat_at < :now - :age
    AND session NOT IN (SELECT session FROM penstock_lease)
