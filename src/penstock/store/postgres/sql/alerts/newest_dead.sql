-- Found by when they ended.
SELECT job.id::text, lane.type, job.org, outcome.attempt, job.error, outcome.reason
FROM penstock.outcome
JOIN penstock.job ON job.id = outcome.id
JOIN penstock.lane ON lane.lane = job.lane
WHERE outcome.state = {DEAD} AND outcome.finished_at >= %(since)s::bigint
ORDER BY outcome.finished_at DESC
LIMIT %(limit)s::bigint
