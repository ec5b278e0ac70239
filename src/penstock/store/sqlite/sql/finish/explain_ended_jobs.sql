UPDATE penstock_job
SET
    error = coalesce(last.error, penstock_job.error),
    crashes = min(penstock_job.crashes + last.crash, 2147483647),
    attempt = last.attempt
FROM (
    SELECT lease.seq, lease.attempt, row.value ->> 5 AS error, row.value ->> 9 AS crash
    FROM json_each(:rows) AS row
    JOIN penstock_lease AS lease ON lease.token = row.value ->> 0
    WHERE (row.value ->> 1) OR lease.cancel
) AS last
WHERE penstock_job.seq = last.seq
