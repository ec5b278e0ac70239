-- Of the oldest claims the oldest one that has not begun, and how many there are.
SELECT job.id::text, lane.type, worker.id, oldest.claimed_at, job.policy, count(*) OVER ()
FROM (
    SELECT id, session, claimed_at, started_at FROM penstock.lease ORDER BY token LIMIT %(looked_at)s::bigint
) AS oldest
JOIN penstock.job ON job.id = oldest.id
JOIN penstock.lane ON lane.lane = job.lane
LEFT JOIN penstock.worker ON worker.session = oldest.session
WHERE oldest.started_at IS NULL AND oldest.claimed_at <= penstock.moment(%(now)s::bigint) - %(age)s::bigint
ORDER BY oldest.claimed_at
LIMIT 1
