INSERT INTO penstock_scheduled (due_at, seq)
SELECT job.due_at, job.seq
FROM json_each(:rows) AS row
JOIN penstock_lease AS lease ON lease.token = row.value ->> 0
JOIN penstock_job AS job ON job.seq = lease.seq
WHERE NOT (row.value ->> 1) AND NOT lease.cancel AND job.due_at > :now
