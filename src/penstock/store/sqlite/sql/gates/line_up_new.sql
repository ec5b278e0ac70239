-- :rows is [[id, name], …]: new jobs of ordered gates.
INSERT OR REPLACE INTO penstock_ticket (name, due_at, seq, id)
SELECT row.value ->> 1, job.due_at, job.seq, job.id
FROM json_each(:rows) AS row
CROSS JOIN penstock_job AS job ON job.id = row.value ->> 0
WHERE job.seq > :last_job
