UPDATE penstock_worker SET status = 'draining' WHERE session = :session AND status = 'active' RETURNING session
