SELECT job.id, coalesce(lane.type, ''), coalesce(lane.queue, ''), coalesce(lane.capability, ''), job.org, job.workspace, job.attempt,
    job.tags
FROM json_each(:ids) AS asked
JOIN penstock_job AS job ON job.id = asked.value
LEFT JOIN penstock_lane AS lane ON lane.lane = job.lane
