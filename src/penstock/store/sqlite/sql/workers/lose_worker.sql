UPDATE penstock_worker SET status = 'lost' WHERE session = :session AND status IN ('active', 'draining')
RETURNING :now - heartbeat_at
