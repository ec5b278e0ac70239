INSERT INTO penstock_ready (lane, priority, due_at, seq, org)
SELECT lane, priority, due_at, seq, org FROM penstock_job WHERE seq > :last_job AND due_at <= :now
