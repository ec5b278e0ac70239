-- Looked up one by one: a join of many could read whole tables.
SELECT job.id::text, coalesce(lane.type, ''), coalesce(lane.queue, ''), coalesce(lane.capability, ''), job.org, job.workspace, job.attempt,
    job.tags
FROM unnest(%(ids)s::uuid[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM penstock.job WHERE job.id = asked.id LIMIT 1) AS job
LEFT JOIN LATERAL (SELECT * FROM penstock.lane WHERE lane.lane = job.lane LIMIT 1) AS lane ON true
