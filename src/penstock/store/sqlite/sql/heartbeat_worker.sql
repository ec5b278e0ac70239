UPDATE penstock_worker SET heartbeat_at = :now, status = :status
WHERE session = :session AND status IN ('active', 'draining')
