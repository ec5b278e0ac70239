INSERT OR IGNORE INTO penstock_ttl (expires_at, id, due_at)
SELECT due_at + :ttl, id, due_at FROM penstock_job WHERE id = :id AND seq > :last_job
