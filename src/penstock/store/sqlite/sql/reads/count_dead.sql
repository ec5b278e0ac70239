SELECT count(*)
FROM penstock_outcome AS outcome
JOIN penstock_job AS job ON job.seq = outcome.seq
JOIN penstock_lane AS lane ON lane.lane = job.lane
WHERE {where}
