-- Of the oldest claims those that began first.
SELECT job.id, lane.type, worker.id, oldest.started_at, job.policy
FROM (
    SELECT seq, session, started_at FROM penstock_lease ORDER BY token LIMIT :looked_at
) AS oldest
JOIN penstock_job AS job ON job.seq = oldest.seq
JOIN penstock_lane AS lane ON lane.lane = job.lane
LEFT JOIN penstock_worker AS worker ON worker.session = oldest.session
WHERE oldest.started_at IS NOT NULL
ORDER BY oldest.started_at
LIMIT :limit
