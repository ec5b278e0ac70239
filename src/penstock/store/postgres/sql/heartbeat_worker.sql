UPDATE penstock.worker SET heartbeat_at = penstock.moment(%(now)s::bigint), status = %(status)s::text
WHERE session = %(session)s::bigint AND status IN ('active', 'draining')
RETURNING session
