SELECT lease.token, job.id, coalesce(lane.type, ''), coalesce(lane.queue, ''), coalesce(lane.capability, ''), job.org, job.workspace, lease.attempt, worker.id,
    lease.cancel, job.tags
FROM json_each(:tokens) AS asked
JOIN penstock_lease AS lease ON lease.token = asked.value
JOIN penstock_job AS job ON job.seq = lease.seq
LEFT JOIN penstock_lane AS lane ON lane.lane = job.lane
LEFT JOIN penstock_worker AS worker ON worker.session = lease.session
