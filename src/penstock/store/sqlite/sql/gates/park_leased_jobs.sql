-- :rows is [[token, gate], …].
INSERT INTO penstock_parked (gate, lane, priority, org, due_at, seq)
SELECT row.value ->> 1, job.lane, job.priority, coalesce(job.org, ''), job.due_at, job.seq
FROM json_each(:rows) AS row
JOIN penstock_lease AS lease ON lease.token = row.value ->> 0
JOIN penstock_job AS job ON job.seq = lease.seq
