-- Whether the first in some lane has no job, so that no claim finds the others of it.
SELECT EXISTS (
    SELECT 1
    FROM (
        SELECT (
            SELECT ready.seq FROM penstock_ready AS ready WHERE ready.lane = lane.lane
            ORDER BY ready.priority DESC, ready.due_at, ready.seq LIMIT 1
        ) AS seq
        FROM penstock_lane AS lane
    ) AS first
    WHERE first.seq IS NOT NULL AND NOT EXISTS (SELECT 1 FROM penstock_job AS job WHERE job.seq = first.seq)
)
