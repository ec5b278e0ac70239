SELECT lease.token, job.id, lease.attempt, job.policy
FROM penstock_lease AS lease
JOIN penstock_job AS job ON job.seq = lease.seq
WHERE lease.session = :session
ORDER BY lease.token
LIMIT :limit
