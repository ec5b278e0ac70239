-- Which pointer a job has: an outcome's state, a lease's token, or neither (then it waits, at this lane and moment,
-- perhaps before a gate, and perhaps for too long).
SELECT NULL, outcome.state, lease.token, job.lane, job.due_at, parked.gate, job.gates,
    coalesce(waiting.expires_at, parked.expires_at) <= penstock.moment(%(now)s::bigint)
FROM penstock.job
LEFT JOIN penstock.lease ON lease.id = job.id
LEFT JOIN penstock.outcome ON outcome.id = job.id
LEFT JOIN penstock.parked ON parked.id = job.id
LEFT JOIN penstock.waiting ON waiting.lane = job.lane AND waiting.due_at = job.due_at AND waiting.id = job.id
WHERE job.id = %(id)s::uuid
