INSERT INTO penstock_ready (lane, priority, due_at, seq, avoid, org)
SELECT job.lane, job.priority, job.due_at, job.seq, job.avoid, job.org
FROM json_each(:rows) AS row
JOIN penstock_lease AS lease ON lease.token = row.value ->> 0
JOIN penstock_job AS job ON job.seq = lease.seq
