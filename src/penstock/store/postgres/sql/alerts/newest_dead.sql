-- Found by when they ended. What lies more than a minute ahead is of a clock that was set back since.
SELECT job.id::text, lane.type, job.org, outcome.attempt, job.error, outcome.reason
FROM penstock.outcome
JOIN penstock.job ON job.id = outcome.id
JOIN penstock.lane ON lane.lane = job.lane
WHERE outcome.state = {DEAD} AND outcome.finished_at BETWEEN %(since)s::bigint AND penstock.moment(%(now)s::bigint) + 60000000
ORDER BY outcome.finished_at DESC
LIMIT %(limit)s::bigint
