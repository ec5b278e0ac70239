-- Which pointer a job has: an outcome's state, a lease's token, or neither (then it waits, perhaps before a gate).
SELECT job.seq, outcome.state, lease.token, lease.started_at, job.due_at, parked.gate, job.gates
FROM penstock_job AS job
LEFT JOIN penstock_lease AS lease ON lease.seq = job.seq
LEFT JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
LEFT JOIN penstock_parked AS parked ON parked.seq = job.seq
WHERE job.id = :id
