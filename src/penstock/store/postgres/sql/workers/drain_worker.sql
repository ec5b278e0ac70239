UPDATE penstock.worker SET status = 'draining' WHERE session = %(session)s::bigint AND status = 'active' RETURNING session
