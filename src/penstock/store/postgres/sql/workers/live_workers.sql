SELECT id FROM penstock.worker
WHERE status IN ('active', 'draining') AND heartbeat_at >= penstock.moment(%(now)s::bigint) - greatest(stale_after, 0)
ORDER BY id COLLATE "C"
