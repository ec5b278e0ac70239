-- All but those that are parked from the start.
INSERT INTO penstock_ready (lane, priority, due_at, seq, org)
SELECT lane, priority, due_at, seq, org
FROM penstock_job
WHERE seq > :last_job AND due_at <= :now AND id NOT IN (SELECT value ->> 0 FROM json_each(:rows))
