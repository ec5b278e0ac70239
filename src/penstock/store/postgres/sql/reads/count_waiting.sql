-- Each lane's rows are read from its oldest, and no more of them than the limit. Lanes that differ in nothing but
-- the priority are one.
SELECT
    lane.type, lane.queue, lane.capability, lane.resources, least(sum(due.jobs), %(limit)s::bigint)::bigint,
    min(due.oldest)
FROM penstock.lane
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs, min(row.due_at) AS oldest
    FROM (
        SELECT due_at FROM penstock.waiting
        WHERE waiting.lane = lane.lane AND waiting.due_at <= penstock.moment(%(now)s::bigint)
        ORDER BY due_at, id
        LIMIT %(limit)s::bigint
    ) AS row
) AS due
WHERE due.jobs > 0
GROUP BY lane.type, lane.queue, lane.capability, lane.resources
ORDER BY
    lane.type COLLATE "C", lane.queue COLLATE "C", lane.capability COLLATE "C", lane.resources COLLATE "C"
