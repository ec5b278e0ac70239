-- One row for the whole batch: each row that is stepped over costs a hand-over of the interpreter lock. A job without
-- a lane is not left out: nobody would ever hear of it.
SELECT json_group_array(json_array(
    lease.token, job.id, lane.type, lane.queue, lease.attempt, job.crashes, job.payload, job.policy, job.priority,
    job.created_at, job.due_at, iif(job.org IS NULL, NULL, json_object('org', job.org, 'workspace', job.workspace)),
    json(job.tags), job.parent, json(nullif(lane.resources, '')), json(job.gates), coalesce(job.snoozes, 0),
    lane.capability
))
FROM penstock_lease AS lease
JOIN penstock_job AS job ON job.seq = lease.seq
LEFT JOIN penstock_lane AS lane ON lane.lane = job.lane
WHERE lease.token > :after AND lease.token <= :upto
