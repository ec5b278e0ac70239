INSERT OR REPLACE INTO penstock_unique (key, id, expires_at) VALUES (:key, :id, :expires_at)
