SELECT
    job.id, outcome.state, job.payload, outcome.retried_as, lane.type, lane.queue, lane.capability, lane.resources, job.priority,
    job.policy, job.org, job.workspace, job.tags
FROM penstock_outcome AS outcome
JOIN penstock_job AS job ON job.seq = outcome.seq
JOIN penstock_lane AS lane ON lane.lane = job.lane
WHERE {where}
ORDER BY outcome.finished_at, job.seq
LIMIT :limit
