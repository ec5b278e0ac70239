-- Which pointer a job has: an outcome's state, a lease's token, or neither (then it waits, perhaps before a gate, and
-- perhaps for too long).
SELECT job.seq, outcome.state, lease.token, job.lane, job.due_at, parked.gate, job.gates,
    job.attempt = 0 AND EXISTS (
        SELECT 1 FROM penstock_ttl AS ttl
        WHERE ttl.expires_at <= :now AND ttl.id = job.id AND ttl.due_at = job.due_at
    )
FROM penstock_job AS job
LEFT JOIN penstock_lease AS lease ON lease.seq = job.seq
LEFT JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
LEFT JOIN penstock_parked AS parked ON parked.seq = job.seq
WHERE job.id = :id
