INSERT INTO penstock_ready (lane, priority, due_at, seq, avoid)
SELECT job.lane, job.priority, job.due_at, job.seq, job.avoid
FROM penstock_job AS job
JOIN penstock_parked AS parked ON parked.seq = job.seq AND parked.gate = :gate
WHERE job.id = :id
