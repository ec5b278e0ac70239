DELETE FROM penstock_scheduled
WHERE (due_at, seq) IN (SELECT due_at, seq FROM penstock_job WHERE seq = :seq)
