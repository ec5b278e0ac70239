UPDATE penstock.worker SET status = 'lost' WHERE session = %(session)s::bigint AND status IN ('active', 'draining')
RETURNING penstock.moment(%(now)s::bigint) - greatest(heartbeat_at, 0)
