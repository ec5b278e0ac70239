SELECT id FROM penstock.worker
WHERE status IN ('active', 'draining') AND heartbeat_at >= penstock.moment(%(now)s::bigint) - stale_after
ORDER BY id COLLATE "C"
