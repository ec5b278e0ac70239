-- One that was told to drain stays draining.
UPDATE penstock.worker SET
    heartbeat_at = penstock.moment(%(now)s::bigint),
    status = CASE WHEN status = 'draining' AND %(status)s::text = 'active' THEN status ELSE %(status)s::text END
WHERE session = %(session)s::bigint AND status IN ('active', 'draining')
RETURNING session
