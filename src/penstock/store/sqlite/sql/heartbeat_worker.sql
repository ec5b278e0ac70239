-- One that was told to drain stays draining.
UPDATE penstock_worker SET heartbeat_at = :now, status = iif(status = 'draining' AND :status = 'active', status, :status)
WHERE session = :session AND status IN ('active', 'draining')
