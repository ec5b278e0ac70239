-- Every type in every queue that ever had a job. What is due and not yet moved to the ready ones is pending.
SELECT lane.type, lane.queue, sum(found.pending), sum(found.scheduled), sum(found.retrying), sum(found.running),
    sum(found.blocked), min(found.oldest)
FROM penstock_lane AS lane
LEFT JOIN (
    SELECT lane, count(*) AS pending, 0 AS scheduled, 0 AS retrying, 0 AS running, 0 AS blocked,
        min(due_at) AS oldest
    FROM penstock_ready
    GROUP BY lane
    UNION ALL
    SELECT job.lane, sum(scheduled.due_at <= :now), sum(scheduled.due_at > :now),
        sum(scheduled.due_at > :now AND job.attempt > 0), 0, 0,
        min(iif(scheduled.due_at <= :now, scheduled.due_at, NULL))
    FROM penstock_scheduled AS scheduled
    JOIN penstock_job AS job ON job.seq = scheduled.seq
    GROUP BY 1
    UNION ALL
    SELECT lane, 0, 0, 0, 0, count(*), NULL FROM penstock_parked GROUP BY lane
    UNION ALL
    SELECT job.lane, 0, 0, 0, count(*), 0, NULL
    FROM penstock_lease AS lease
    JOIN penstock_job AS job ON job.seq = lease.seq
    GROUP BY 1
) AS found ON found.lane = lane.lane
GROUP BY 1, 2
ORDER BY 2, 1
