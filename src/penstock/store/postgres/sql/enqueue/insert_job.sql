-- The same for one job: a lone enqueue is the most common write of all. No answer means that its lane is missing or
-- that its id is stored already; the statement for many finds out which.
WITH new AS (
    INSERT INTO penstock.job (
        id, lane, due_at, created_at, payload, policy, org, workspace, tags, parent, retried_from
    )
    SELECT
        %(id)s::uuid, lane.lane, coalesce(%(at)s::bigint, moment.us + %(delay)s::bigint), moment.us, %(payload)s::text,
        %(policy)s::text, %(org)s::text, %(workspace)s::text, %(tags)s::text[], %(parent)s::uuid,
        %(retried_from)s::uuid
    FROM penstock.lane
    CROSS JOIN (SELECT penstock.moment(%(now)s::bigint) AS us) AS moment
    WHERE type = %(type)s::text AND queue = %(queue)s::text AND capability = %(capability)s::text
        AND resources = %(resources)s::text AND priority = %(priority)s::integer
    ON CONFLICT (id) DO NOTHING
    RETURNING id, lane, due_at
)
INSERT INTO penstock.waiting (lane, due_at, id, expires_at, org)
SELECT lane, due_at, id, due_at + %(ttl)s::bigint, %(org)s::text FROM new
RETURNING CASE
    WHEN %(wake)s::boolean AND %(channel)s::text IS NOT NULL THEN pg_notify(%(channel)s::text, pg_current_xact_id()::text)::text
END
