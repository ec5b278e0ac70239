-- Answers those that are still leased. One whose outcome is just being stored, in another transaction, is not waited for.
WITH held AS (
    SELECT lease.token, row.started_at
    FROM unnest(%(tokens)s::bigint[], %(started)s::bigint[]) AS row (token, started_at)
    JOIN penstock.lease ON lease.token = row.token
    WHERE lease.token = ANY (%(tokens)s::bigint[])
    FOR UPDATE OF lease SKIP LOCKED
),
told AS (UPDATE penstock.lease SET started_at = held.started_at FROM held WHERE lease.token = held.token)
SELECT token FROM penstock.lease WHERE token = ANY (%(tokens)s::bigint[])
