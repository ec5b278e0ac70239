-- The first job of each of these lanes, where it has been due for long.
SELECT job.lane, job.priority, job.due_at, job.seq
FROM json_each(:lanes) AS lane
CROSS JOIN penstock_job AS job ON job.seq = (
    SELECT ready.seq FROM penstock_ready AS ready WHERE ready.lane = lane.value
    ORDER BY ready.priority DESC, ready.due_at, ready.seq LIMIT 1
)
WHERE job.due_at <= :overdue
