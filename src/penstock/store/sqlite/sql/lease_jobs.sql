-- First the heads of the lanes, in order: the first :limit jobs can only be in the first :limit lanes.
WITH head (lane) AS MATERIALIZED (
    SELECT job.lane
    FROM json_each(:lanes) AS lane
    CROSS JOIN penstock_job AS job ON job.seq = (
        SELECT ready.seq FROM penstock_ready AS ready WHERE ready.lane = lane.value
        ORDER BY ready.priority DESC, ready.due_at, ready.seq LIMIT 1
    )
    ORDER BY job.priority DESC, job.due_at, job.seq
    LIMIT :limit
),
picked (priority, due_at, seq, attempt) AS (
    SELECT job.priority, job.due_at, job.seq, job.attempt
    FROM head
    CROSS JOIN penstock_job AS job ON job.seq IN (
        SELECT ready.seq FROM penstock_ready AS ready WHERE ready.lane = head.lane
        ORDER BY ready.priority DESC, ready.due_at, ready.seq LIMIT :limit
    )
    ORDER BY job.priority DESC, job.due_at, job.seq
    LIMIT :limit
)
INSERT INTO penstock_lease (seq, attempt, session, claimed_at)
SELECT seq, attempt + 1, :session, :now FROM picked
