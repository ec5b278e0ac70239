INSERT OR REPLACE INTO penstock_unique_key (key, id, expires_at) VALUES (:key, :id, :expires_at)
