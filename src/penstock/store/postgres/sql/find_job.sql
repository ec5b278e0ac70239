-- Which pointer a job has: an outcome's state, a lease's token, or neither (then it waits, at this lane and moment,
-- perhaps before a gate).
SELECT outcome.state, lease.token, job.lane, job.due_at, parked.gate, job.gates
FROM penstock.job
LEFT JOIN penstock.lease ON lease.id = job.id
LEFT JOIN penstock.outcome ON outcome.id = job.id
LEFT JOIN penstock.parked ON parked.id = job.id
WHERE job.id = %(id)s::uuid
