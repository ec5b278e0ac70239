-- Every type in every queue that ever had a job.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us)
SELECT
    lane.type, lane.queue, sum(found.pending)::bigint, sum(found.scheduled)::bigint, sum(found.retrying)::bigint,
    sum(found.running)::bigint, sum(found.blocked)::bigint, min(found.oldest)
FROM penstock.lane
LEFT JOIN (
    SELECT
        lane, count(*) FILTER (WHERE due_at <= moment.us) AS pending,
        count(*) FILTER (WHERE due_at > moment.us) AS scheduled, 0 AS retrying, 0 AS running, 0 AS blocked,
        min(due_at) FILTER (WHERE due_at <= moment.us) AS oldest
    FROM penstock.waiting CROSS JOIN moment
    GROUP BY lane
    UNION ALL
    SELECT waiting.lane, 0, 0, count(*), 0, 0, NULL
    FROM penstock.waiting
    CROSS JOIN moment
    JOIN penstock.job ON job.id = waiting.id
    WHERE waiting.due_at > moment.us AND job.attempt > 0
    GROUP BY 1
    UNION ALL
    SELECT lane, 0, 0, 0, 0, count(*), NULL FROM penstock.parked GROUP BY lane
    UNION ALL
    SELECT job.lane, 0, 0, 0, count(*), 0, NULL
    FROM penstock.lease
    JOIN penstock.job ON job.id = lease.id
    GROUP BY 1
) AS found ON found.lane = lane.lane
GROUP BY 1, 2
ORDER BY lane.queue COLLATE "C", lane.type COLLATE "C"
