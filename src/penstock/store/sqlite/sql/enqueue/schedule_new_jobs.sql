INSERT INTO penstock_scheduled (due_at, seq)
SELECT due_at, seq FROM penstock_job WHERE seq > :last_job AND due_at > :now
