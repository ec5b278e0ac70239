SELECT json_group_array(bell) FROM penstock_worker
WHERE bell IS NOT NULL AND status IN ('active', 'draining') AND heartbeat_at > :since
