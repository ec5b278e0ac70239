SELECT (SELECT min(due_at) FROM penstock_scheduled), (SELECT min(expires_at) FROM penstock_ttl)
