-- :rows is [[id, gate], …]: those that are parked from the start.
INSERT INTO penstock_parked (gate, lane, priority, org, due_at, seq)
SELECT row.value ->> 1, job.lane, job.priority, coalesce(job.org, ''), job.due_at, job.seq
FROM json_each(:rows) AS row
JOIN penstock_job AS job ON job.id = row.value ->> 0
WHERE job.seq > :last_job AND job.due_at <= :now
