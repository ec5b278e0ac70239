SELECT lease.token, lease.id::text, lease.attempt, job.policy
FROM penstock.lease
JOIN penstock.job ON job.id = lease.id
WHERE lease.session = %(session)s::bigint
ORDER BY lease.token
LIMIT %(limit)s::bigint
FOR UPDATE OF lease SKIP LOCKED
