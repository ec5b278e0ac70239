SELECT session, status, heartbeat_at <= penstock.moment(%(now)s::bigint) - greatest(%(stale_after)s::bigint, stale_after)
FROM penstock.worker
WHERE id = %(id)s::text AND status IN ('active', 'draining')
ORDER BY session DESC
FOR UPDATE
