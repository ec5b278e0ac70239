-- To the lane that is theirs but for the priority. Claims find them there as they find whatever is new.
-- Rows of waiting are never updated: whoever has chosen one by what it saw would lock it where it is now, and could
-- neither see it there nor delete it.
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
    DELETE FROM penstock.waiting USING locked
    WHERE waiting.lane = locked.lane AND waiting.due_at = locked.due_at AND waiting.id = locked.id
    RETURNING locked.higher AS lane, waiting.due_at, waiting.id, waiting.expires_at, waiting.avoid, waiting.org
),
placed AS (
    INSERT INTO penstock.waiting (lane, due_at, id, expires_at, avoid, org)
    SELECT lane, due_at, id, expires_at, avoid, org FROM moved
)
UPDATE penstock.job SET lane = moved.lane FROM moved WHERE job.id = moved.id RETURNING job.id
