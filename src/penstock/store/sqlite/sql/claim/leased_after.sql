-- What a claim has leased so far, in its order.
SELECT lease.token, job.lane, job.priority, job.due_at, job.seq
FROM penstock_lease AS lease
JOIN penstock_job AS job ON job.seq = lease.seq
WHERE lease.token > :token
ORDER BY lease.token
