SELECT lane.type, lane.queue, found.state, found.code, sum(found.jobs)::bigint
FROM (
    SELECT
        lane, CASE WHEN due_at <= penstock.moment(%(now)s::bigint) THEN 'pending' ELSE 'scheduled' END AS state,
        NULL::smallint AS code, count(*) AS jobs
    FROM penstock.waiting
    GROUP BY 1, 2
    UNION ALL
    SELECT lane, 'blocked', NULL, count(*) FROM penstock.parked GROUP BY 1
    UNION ALL
    SELECT job.lane, CASE WHEN lease.started_at IS NULL THEN 'claimed' ELSE 'running' END, NULL, count(*)
    FROM penstock.lease
    JOIN penstock.job ON job.id = lease.id
    GROUP BY 1, 2
    UNION ALL
    SELECT job.lane, NULL, outcome.state, count(*)
    FROM penstock.outcome
    JOIN penstock.job ON job.id = outcome.id
    GROUP BY 1, 3
) AS found
JOIN penstock.lane ON lane.lane = found.lane
GROUP BY 1, 2, 3, 4
ORDER BY lane.type COLLATE "C", lane.queue COLLATE "C", found.state COLLATE "C", found.code
