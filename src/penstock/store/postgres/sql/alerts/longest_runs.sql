-- Of the oldest claims those that began first.
SELECT job.id::text, lane.type, worker.id, oldest.started_at, job.policy
FROM (
    SELECT id, session, started_at FROM penstock.lease ORDER BY token LIMIT %(looked_at)s::bigint
) AS oldest
JOIN penstock.job ON job.id = oldest.id
JOIN penstock.lane ON lane.lane = job.lane
LEFT JOIN penstock.worker ON worker.session = oldest.session
WHERE oldest.started_at IS NOT NULL
ORDER BY oldest.started_at
LIMIT %(limit)s::bigint
