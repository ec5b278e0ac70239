-- The first so many jobs of each of these tenants. As a claim it takes nothing that was paused meanwhile.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
unpaused AS (SELECT 1 FROM penstock.pause WHERE false FOR KEY SHARE),
quota AS MATERIALIZED (
    SELECT org, jobs, nth
    FROM unnest(%(orgs)s::text[], %(counts)s::bigint[]) WITH ORDINALITY AS row (org, jobs, nth)
    WHERE EXISTS (
            SELECT 1 FROM penstock.worker WHERE session = %(session)s::bigint AND status = 'active' AND NOT failing
        )
        AND (SELECT number FROM penstock.order_number WHERE id = 1) = %(orders)s::bigint
        AND pg_postmaster_start_time()::text || ' ' || pg_relation_filenode('penstock.waiting'::regclass)::text
            = %(place)s::text
),
picked AS MATERIALIZED (
    SELECT row.at, row.lane, row.due_at, row.id, quota.nth
    FROM quota
    CROSS JOIN moment
    CROSS JOIN LATERAL (
        SELECT first.at, first.lane, first.due_at, first.id
        FROM unnest(%(lanes)s::integer[]) AS route (lane)
        CROSS JOIN LATERAL (
            SELECT ctid AS at, waiting.lane, due_at, id FROM penstock.waiting
            WHERE waiting.lane = route.lane AND waiting.org = quota.org AND waiting.due_at <= moment.us
                AND (
                    waiting.avoid IS NULL OR waiting.avoid <> %(session)s::bigint
                    OR waiting.due_at <= moment.us - %(fair)s::bigint
                )
                AND (waiting.expires_at IS NULL OR waiting.expires_at > moment.us)
            ORDER BY due_at, id
            LIMIT quota.jobs
            FOR UPDATE SKIP LOCKED
        ) AS first
        ORDER BY first.due_at, first.id
        LIMIT quota.jobs
    ) AS row
    LIMIT 1000 -- Never reached: it tells the planner that this is not a large part of all that waits.
),
-- All that was picked is deleted: none of it can have moved (claim_jobs).
gone AS (DELETE FROM penstock.waiting WHERE ctid = ANY (ARRAY (SELECT at FROM picked))),
taken AS MATERIALIZED (
    SELECT
        nextval('penstock.token') AS token, row.id, row.lane, row.due_at,
        -- Not beyond what the column can hold, whatever somebody has written there; nothing where there is no job.
        job.attempt + (job.attempt < 2147483647)::integer AS attempt, job.crashes, job.payload, job.policy,
        job.created_at, job.org, job.workspace, job.tags, job.parent, job.gates,
        job.snoozes
    FROM (SELECT lane, due_at, id FROM picked ORDER BY nth, due_at, id) AS row
    LEFT JOIN LATERAL (SELECT * FROM penstock.job WHERE job.id = row.id LIMIT 1) AS job ON true
),
held AS (
    INSERT INTO penstock.lease (token, id, attempt, session, claimed_at)
    SELECT token, id, attempt, %(session)s::bigint, moment.us FROM taken CROSS JOIN moment WHERE attempt IS NOT NULL
)
SELECT
    array_agg(token), array_agg(id::text), array_agg(lane), array_agg(attempt), array_agg(crashes),
    array_agg(payload), array_agg(policy), array_agg(created_at), array_agg(due_at), array_agg(org),
    CASE WHEN count(workspace) > 0 THEN array_agg(workspace) END,
    CASE WHEN count(tags) > 0 THEN array_agg(to_json(tags)::text) END,
    CASE WHEN count(parent) > 0 THEN array_agg(parent::text) END,
    CASE WHEN count(gates) > 0 THEN array_agg(gates) END,
    CASE WHEN count(snoozes) > 0 THEN array_agg(snoozes) END
FROM taken
