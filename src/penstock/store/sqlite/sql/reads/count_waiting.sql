-- Each lane's priorities are walked by seeks in the index, so that the oldest is found without reading the lane.
WITH RECURSIVE level (lane, priority) AS (
    SELECT lane.lane, (SELECT max(ready.priority) FROM penstock_ready AS ready WHERE ready.lane = lane.lane)
    FROM penstock_lane AS lane
    UNION ALL
    SELECT level.lane, (
        SELECT max(ready.priority) FROM penstock_ready AS ready
        WHERE ready.lane = level.lane AND ready.priority < level.priority
    )
    FROM level WHERE level.priority IS NOT NULL
),
waiting (lane, jobs, oldest) AS (
    SELECT level.lane,
        (SELECT count(*) FROM (SELECT 1 FROM penstock_ready AS ready WHERE ready.lane = level.lane LIMIT :limit)),
        min((
            SELECT min(ready.due_at) FROM penstock_ready AS ready
            WHERE ready.lane = level.lane AND ready.priority = level.priority
        ))
    FROM level
    WHERE level.priority IS NOT NULL
    GROUP BY level.lane
    UNION ALL
    -- Due, and not yet moved to the ready ones by a claim.
    SELECT job.lane, count(*), min(scheduled.due_at)
    FROM penstock_scheduled AS scheduled
    JOIN penstock_job AS job ON job.seq = scheduled.seq
    WHERE scheduled.due_at <= :now
    GROUP BY job.lane
)
SELECT lane.type, lane.queue, lane.capability, lane.resources, min(sum(waiting.jobs), :limit), min(waiting.oldest)
FROM waiting
JOIN penstock_lane AS lane ON lane.lane = waiting.lane
GROUP BY waiting.lane
ORDER BY lane.type, lane.queue, lane.capability, lane.resources
