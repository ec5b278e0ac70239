-- :rows is [[token, final, state, started_at, delay, error, reason, decided_by, give_back, crash, event], …].
UPDATE penstock_job
SET
    attempt = back.attempt,
    crashes = min(penstock_job.crashes + back.crash, 2147483647),
    snoozes = iif(back.snoozed, min(coalesce(penstock_job.snoozes, 0), 2147483646) + 1, penstock_job.snoozes),
    due_at = back.due_at,
    error = coalesce(back.error, penstock_job.error),
    avoid = back.avoid
FROM (
    SELECT
        lease.seq,
        lease.attempt - (row.value ->> 8) AS attempt,
        row.value ->> 9 AS crash,
        row.value ->> 10 = {SNOOZE} AS snoozed,
        row.value ->> 4 + :now AS due_at,
        row.value ->> 5 AS error,
        iif(row.value ->> 14, lease.session, NULL) AS avoid
    FROM json_each(:rows) AS row
    JOIN penstock_lease AS lease ON lease.token = row.value ->> 0
    WHERE NOT (row.value ->> 1) AND NOT lease.cancel
) AS back
WHERE penstock_job.seq = back.seq
