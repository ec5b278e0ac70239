SELECT parked.seq
FROM penstock_job AS job
JOIN penstock_parked AS parked ON parked.seq = job.seq AND parked.gate = :gate
WHERE job.id = :id
