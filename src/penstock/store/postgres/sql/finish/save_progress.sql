-- Answers those that are still leased. As at a start, one whose outcome is just being stored is not waited for: the progress
-- of all others would wait with it. It has told its last progress itself.
WITH held AS (
    SELECT lease.token, row.progress
    FROM unnest(%(tokens)s::bigint[], %(progress)s::text[]) AS row (token, progress)
    JOIN penstock.lease ON lease.token = row.token
    WHERE lease.token = ANY (%(tokens)s::bigint[])
    FOR UPDATE OF lease SKIP LOCKED
),
told AS (UPDATE penstock.lease SET progress = held.progress FROM held WHERE lease.token = held.token)
SELECT token FROM penstock.lease WHERE token = ANY (%(tokens)s::bigint[])
