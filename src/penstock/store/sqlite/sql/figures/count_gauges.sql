-- What waits and runs, by what it asks for; also what has nothing now. What is due and not yet moved to the ready ones is pending, and so is what
-- waits before a limit.
SELECT
    lane.type, lane.queue, lane.capability, sum(found.ready) + sum(found.blocked), sum(found.ready),
        sum(found.blocked),
    sum(found.scheduled), sum(found.retrying), sum(found.claimed), sum(found.running), min(found.oldest)
FROM penstock_lane AS lane
LEFT JOIN (
    SELECT lane, count(*) AS ready, 0 AS blocked, 0 AS scheduled, 0 AS retrying, 0 AS claimed, 0 AS running,
        min(due_at) AS oldest
    FROM penstock_ready
    GROUP BY lane
    UNION ALL
    SELECT lane, 0, count(*), 0, 0, 0, 0, min(due_at) FROM penstock_parked GROUP BY lane
    UNION ALL
    SELECT job.lane, sum(scheduled.due_at <= :now), 0, sum(scheduled.due_at > :now),
        sum(scheduled.due_at > :now AND job.attempt > 0), 0, 0,
        min(iif(scheduled.due_at <= :now, scheduled.due_at, NULL))
    FROM penstock_scheduled AS scheduled
    JOIN penstock_job AS job ON job.seq = scheduled.seq
    GROUP BY 1
    UNION ALL
    SELECT job.lane, 0, 0, 0, 0, sum(lease.started_at IS NULL), sum(lease.started_at IS NOT NULL), NULL
    FROM penstock_lease AS lease
    JOIN penstock_job AS job ON job.seq = lease.seq
    GROUP BY 1
) AS found ON found.lane = lane.lane
GROUP BY 1, 2, 3
