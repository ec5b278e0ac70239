SELECT count(*)
FROM penstock.worker
WHERE status IN ('active', 'draining') AND penstock.moment(%(now)s::bigint) - heartbeat_at <= stale_after
