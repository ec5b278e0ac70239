-- Looked up one by one: a join of many could read whole tables.
SELECT lease.token, job.id::text, coalesce(lane.type, ''), coalesce(lane.queue, ''), coalesce(lane.capability, ''), job.org, job.workspace, lease.attempt,
    worker.id, lease.cancel, job.tags
FROM unnest(%(tokens)s::bigint[]) AS asked (token)
CROSS JOIN LATERAL (SELECT * FROM penstock.lease WHERE lease.token = asked.token LIMIT 1) AS lease
CROSS JOIN LATERAL (SELECT * FROM penstock.job WHERE job.id = lease.id LIMIT 1) AS job
LEFT JOIN LATERAL (SELECT * FROM penstock.lane WHERE lane.lane = job.lane LIMIT 1) AS lane ON true
LEFT JOIN penstock.worker ON worker.session = lease.session
