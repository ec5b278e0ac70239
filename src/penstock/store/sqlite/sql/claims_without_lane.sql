SELECT job.id
FROM penstock_lease AS lease
JOIN penstock_job AS job ON job.seq = lease.seq
WHERE lease.token > :token AND NOT EXISTS (SELECT 1 FROM penstock_lane AS lane WHERE lane.lane = job.lane)
