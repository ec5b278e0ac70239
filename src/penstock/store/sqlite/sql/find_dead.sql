SELECT job.seq, job.id, lane.type, job.payload, job.tenant, job.tags, outcome.retried_as
FROM penstock_outcome AS outcome
JOIN penstock_job AS job ON job.seq = outcome.seq
JOIN penstock_lane AS lane ON lane.lane = job.lane
WHERE {where}
ORDER BY outcome.finished_at, job.seq
LIMIT :limit
