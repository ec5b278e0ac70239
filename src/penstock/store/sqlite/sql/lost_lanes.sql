-- How many jobs name a lane that does not exist, and the first of them. Reads every job.
SELECT count(*), min(job.id)
FROM penstock_job AS job
WHERE NOT EXISTS (SELECT 1 FROM penstock_lane AS lane WHERE lane.lane = job.lane)
