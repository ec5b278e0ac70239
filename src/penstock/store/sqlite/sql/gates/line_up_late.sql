-- :rows is [[id, name], …]: jobs that were enqueued before their gate was ordered.
INSERT OR REPLACE INTO penstock_ticket (name, due_at, seq, id)
SELECT row.value ->> 1, job.due_at, job.seq, job.id
FROM json_each(:rows) AS row
CROSS JOIN penstock_job AS job ON job.id = row.value ->> 0
WHERE NOT EXISTS (SELECT 1 FROM penstock_ticket AS ticket WHERE ticket.id = job.id)
