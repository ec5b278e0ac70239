SELECT id::text FROM penstock.workflow
WHERE state = %(state)s::smallint AND ended_at < penstock.moment(%(now)s::bigint) - %(age)s::bigint
ORDER BY ended_at
LIMIT %(limit)s::bigint
FOR UPDATE SKIP LOCKED
