-- First the heads of the lanes, in order: the first :limit jobs can only be in the first :limit lanes. Of each lane its
-- share is read, and more of those that have all of their share among the first. A job whose last attempt failed here is
-- left to others for a while. {column} and {token} are filled in by fit.py.
WITH head (lane) AS MATERIALIZED (
    SELECT lane.value
    FROM json_each(:lanes) AS lane
    CROSS JOIN penstock_job AS job ON job.seq = (
        SELECT ready.seq FROM penstock_ready AS ready WHERE ready.lane = lane.value
            AND (ready.avoid IS NULL OR ready.avoid <> :session OR ready.due_at <= :fair)
        ORDER BY ready.priority DESC, ready.due_at, ready.seq LIMIT 1
    )
    ORDER BY job.priority DESC, job.due_at, job.seq
    LIMIT :limit
),
share (jobs) AS MATERIALIZED (SELECT min(:limit, max(4, 2 * :limit / max(1, count(*)))) FROM head),
near (lane, priority, due_at, seq, attempt) AS MATERIALIZED (
    SELECT head.lane, job.priority, job.due_at, job.seq, job.attempt
    FROM head
    CROSS JOIN penstock_job AS job ON job.seq IN (
        SELECT ready.seq FROM penstock_ready AS ready WHERE ready.lane = head.lane
            AND (ready.avoid IS NULL OR ready.avoid <> :session OR ready.due_at <= :fair)
        ORDER BY ready.priority DESC, ready.due_at, ready.seq LIMIT (SELECT jobs FROM share)
    )
    ORDER BY job.priority DESC, job.due_at, job.seq
    LIMIT :limit
),
deep (lane) AS MATERIALIZED (
    SELECT lane FROM near
    WHERE (SELECT jobs FROM share) < :limit
    GROUP BY lane
    HAVING count(*) = (SELECT jobs FROM share)
),
picked (priority, due_at, seq, attempt) AS (
    SELECT priority, due_at, seq, attempt
    FROM near
    WHERE lane NOT IN (SELECT lane FROM deep)
    UNION ALL
    SELECT job.priority, job.due_at, job.seq, job.attempt
    FROM deep
    CROSS JOIN penstock_job AS job ON job.seq IN (
        SELECT ready.seq FROM penstock_ready AS ready WHERE ready.lane = deep.lane
            AND (ready.avoid IS NULL OR ready.avoid <> :session OR ready.due_at <= :fair)
        ORDER BY ready.priority DESC, ready.due_at, ready.seq LIMIT :limit
    )
    ORDER BY 1 DESC, 2, 3
    LIMIT :limit
)
INSERT INTO penstock_lease ({column} seq, attempt, session, claimed_at)
SELECT {token} seq, attempt + (attempt < 2147483647), :session, :now FROM picked
