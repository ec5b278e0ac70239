DELETE FROM penstock_ttl WHERE expires_at <= :now
