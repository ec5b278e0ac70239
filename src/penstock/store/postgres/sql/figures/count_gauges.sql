-- What waits and runs, by what it asks for; also what has nothing now. What waits before a limit is pending too.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us)
SELECT
    lane.type, lane.queue, lane.capability, (sum(found.ready) + sum(found.blocked))::bigint, sum(found.ready)::bigint,
    sum(found.blocked)::bigint, sum(found.scheduled)::bigint, sum(found.retrying)::bigint, sum(found.claimed)::bigint,
    sum(found.running)::bigint, min(found.oldest)
FROM penstock.lane
LEFT JOIN (
    SELECT
        lane, count(*) FILTER (WHERE due_at <= moment.us) AS ready, 0 AS blocked,
        count(*) FILTER (WHERE due_at > moment.us) AS scheduled, 0 AS retrying, 0 AS claimed, 0 AS running,
        min(due_at) FILTER (WHERE due_at <= moment.us) AS oldest
    FROM penstock.waiting
    CROSS JOIN moment
    GROUP BY lane
    UNION ALL
    SELECT waiting.lane, 0, 0, 0, count(*), 0, 0, NULL
    FROM penstock.waiting
    CROSS JOIN moment
    JOIN penstock.job ON job.id = waiting.id
    WHERE waiting.due_at > moment.us AND job.attempt > 0
    GROUP BY 1
    UNION ALL
    SELECT lane, 0, count(*), 0, 0, 0, 0, min(due_at) FROM penstock.parked GROUP BY lane
    UNION ALL
    SELECT
        job.lane, 0, 0, 0, 0, count(*) FILTER (WHERE lease.started_at IS NULL),
        count(*) FILTER (WHERE lease.started_at IS NOT NULL), NULL
    FROM penstock.lease
    JOIN penstock.job ON job.id = lease.id
    GROUP BY 1
) AS found ON found.lane = lane.lane
GROUP BY 1, 2, 3
