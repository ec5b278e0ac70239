-- Of the oldest claims the oldest one that has not begun, and how many there are.
SELECT job.id, lane.type, worker.id, oldest.claimed_at, job.policy, count(*) OVER ()
FROM (
    SELECT seq, session, claimed_at, started_at FROM penstock_lease ORDER BY token LIMIT :looked_at
) AS oldest
JOIN penstock_job AS job ON job.seq = oldest.seq
JOIN penstock_lane AS lane ON lane.lane = job.lane
LEFT JOIN penstock_worker AS worker ON worker.session = oldest.session
WHERE oldest.started_at IS NULL AND oldest.claimed_at <= :now - :age
ORDER BY oldest.claimed_at
LIMIT 1
