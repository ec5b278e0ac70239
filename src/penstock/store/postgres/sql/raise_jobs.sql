-- To the lane that is theirs but for the priority. Claims find them there as they find whatever is new.
WITH wanted AS (
    SELECT *
    FROM unnest(%(lanes)s::integer[], %(dues)s::bigint[], %(ids)s::uuid[], %(priorities)s::integer[])
        AS aged (lane, due_at, id, priority)
),
locked AS MATERIALIZED (
    SELECT waiting.lane, waiting.due_at, waiting.id, higher.lane AS higher
    FROM wanted
    JOIN penstock.waiting
        ON waiting.lane = wanted.lane AND waiting.due_at = wanted.due_at AND waiting.id = wanted.id
    JOIN penstock.lane AS lower ON lower.lane = wanted.lane
    JOIN penstock.lane AS higher
        ON higher.type = lower.type AND higher.queue = lower.queue AND higher.capability = lower.capability
        AND higher.resources = lower.resources AND higher.priority = wanted.priority
    FOR UPDATE OF waiting SKIP LOCKED
),
moved AS (
    UPDATE penstock.waiting SET lane = locked.higher, xid = pg_current_xact_id()
    FROM locked
    WHERE waiting.lane = locked.lane AND waiting.due_at = locked.due_at AND waiting.id = locked.id
    RETURNING waiting.id, waiting.lane
)
UPDATE penstock.job SET lane = moved.lane FROM moved WHERE job.id = moved.id RETURNING job.id
