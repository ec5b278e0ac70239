DELETE FROM penstock_ready
WHERE (lane, priority, due_at, seq) IN (SELECT lane, priority, due_at, seq FROM penstock_job WHERE seq = :seq)
