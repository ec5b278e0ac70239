-- The oldest of each lane and priority that have waited for so long that they have earned a higher one.
WITH RECURSIVE level (lane, priority) AS (
    SELECT lane, (SELECT max(priority) FROM penstock_ready AS ready WHERE ready.lane = penstock_lane.lane)
    FROM penstock_lane
    UNION ALL
    SELECT lane, (
        SELECT max(priority) FROM penstock_ready AS ready WHERE ready.lane = level.lane AND ready.priority < level.priority
    )
    FROM level
    WHERE priority IS NOT NULL
)
SELECT job.lane, job.priority, job.due_at, job.seq, min(:top, (:now - max(job.due_at, 0)) / :ageing)
FROM level
CROSS JOIN penstock_job AS job ON job.seq IN (
    SELECT ready.seq FROM penstock_ready AS ready
    WHERE ready.lane = level.lane AND ready.priority = level.priority
        AND ready.due_at <= :now - :ageing * max(1, min(level.priority, :top) + 1)
    ORDER BY ready.due_at, ready.seq
    LIMIT :limit
)
WHERE level.priority < :top
ORDER BY job.due_at, job.seq
LIMIT :limit
