INSERT OR IGNORE INTO penstock_ttl (expires_at, seq)
SELECT due_at + :ttl, seq FROM penstock_job WHERE id = :id
