UPDATE penstock.lease
SET progress = row.progress
FROM unnest(%(tokens)s::bigint[], %(progress)s::text[]) AS row (token, progress)
WHERE lease.token = row.token AND lease.token = ANY (%(tokens)s::bigint[])
RETURNING lease.token
