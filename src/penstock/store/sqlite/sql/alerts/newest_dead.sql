-- Found by when they ended. What lies more than a minute ahead is of a clock that was set back since.
SELECT job.id, lane.type, job.org, outcome.attempt, job.error, outcome.reason
FROM penstock_outcome AS outcome
JOIN penstock_job AS job ON job.seq = outcome.seq
JOIN penstock_lane AS lane ON lane.lane = job.lane
WHERE outcome.state = {DEAD} AND outcome.finished_at BETWEEN :since AND :now + 60000000
ORDER BY outcome.finished_at DESC
LIMIT :limit
