UPDATE penstock.worker SET status = 'lost' WHERE session = %(session)s::bigint AND status IN ('active', 'draining')
