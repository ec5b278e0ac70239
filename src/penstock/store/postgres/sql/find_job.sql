-- Which pointer a job has: an outcome's state, a lease's token, or neither (then it waits, at this lane and moment).
SELECT outcome.state, lease.token, job.lane, job.due_at
FROM penstock.job
LEFT JOIN penstock.lease ON lease.id = job.id
LEFT JOIN penstock.outcome ON outcome.id = job.id
WHERE job.id = %(id)s::uuid
