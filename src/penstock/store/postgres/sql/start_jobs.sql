UPDATE penstock.lease
SET started_at = row.started_at
FROM unnest(%(tokens)s::bigint[], %(started)s::bigint[]) AS row (token, started_at)
WHERE lease.token = row.token AND lease.token = ANY (%(tokens)s::bigint[])
RETURNING lease.token
