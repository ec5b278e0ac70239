SELECT min(expires_at) FROM penstock_ttl
