-- One claim. The parameters say where each lane goes on (the first row that was not taken, or later), and which
-- snapshot that was true of: whatever became visible since is found by the transaction that inserted it, so a job
-- that was committed late, or that comes before all others, is not missed and no dead row before it is walked over.
-- Where at most one lane is known to have jobs, the parts marked "many lanes" are left out: starting a plan of so many
-- nodes costs more than a lone job. A job whose last attempt failed here is left to others for a while.
-- Every visible row that was written here has a transaction before the snapshot's xmax. One of a later transaction came
-- from another server, with a dump: it is found from where its lane begins, never as new. Of the transactions that were
-- open at the last look only those that have ended are asked for: nobody walks over what is not committed twice.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
worker AS MATERIALIZED (
    SELECT CASE WHEN failing THEN 'failing' ELSE status END AS status
    FROM penstock.worker
    WHERE session = %(session)s::bigint
),
-- Locks no row, but the table, before the snapshot is taken: a pause waits for the claims that are under way.
unpaused AS (SELECT 1 FROM penstock.pause WHERE false FOR KEY SHARE),
new AS MATERIALIZED (
    SELECT lane, due_at, id
    FROM (
        SELECT lane, due_at, id FROM penstock.waiting
        WHERE xid >= %(upto)s::text::xid8 AND xid < pg_snapshot_xmax(pg_current_snapshot())
        UNION ALL
        SELECT lane, due_at, id FROM penstock.waiting
        WHERE xid = ANY (ARRAY (
            SELECT open.xid FROM unnest(%(open)s::text[]::xid8[]) AS open (xid)
            WHERE pg_visible_in_snapshot(open.xid, pg_current_snapshot())
        ))
    ) AS either
    LIMIT %(flood)s::bigint
),
fresh AS MATERIALIZED (SELECT DISTINCT ON (lane) lane, due_at, id FROM new ORDER BY lane, due_at, id),
-- Why nothing is taken: more came than is worth walking over, there are lanes that this connection does not know,
-- something was paused or resumed since it looked, or these are not the tables that it looked at: the numbers of their
-- lanes and transactions may mean something else.
unsure AS MATERIALIZED (
    SELECT
        (SELECT count(*) FROM new) >= %(flood)s::bigint AS flooded,
        CASE WHEN EXISTS (SELECT 1 FROM new) THEN (SELECT count(*) FROM penstock.lane) > %(known)s::bigint ELSE false END
            AS strange,
        (SELECT number FROM penstock.order_number WHERE id = 1) IS DISTINCT FROM %(orders)s::bigint AS ordered,
        pg_postmaster_start_time()::text || ' ' || pg_relation_filenode('penstock.waiting'::regclass)::text
            IS DISTINCT FROM %(place)s::text AS elsewhere
),
want AS MATERIALIZED (
    SELECT DISTINCT ON (lane) lane, due_at, id, priority
    FROM (
        SELECT lane, due_at, id, priority
        FROM unnest(%(lanes)s::integer[], %(dues)s::bigint[], %(ids)s::uuid[], %(priorities)s::integer[])
            AS known (lane, due_at, id, priority)
        UNION ALL
        SELECT fresh.lane, fresh.due_at, fresh.id, route.priority
        FROM fresh
        CROSS JOIN LATERAL (SELECT priority FROM penstock.lane WHERE lane.lane = fresh.lane LIMIT 1) AS route
        WHERE fresh.lane = ANY (%(eligible)s::integer[])
    ) AS either
    WHERE EXISTS (SELECT 1 FROM worker WHERE status = 'active')
        AND NOT EXISTS (SELECT 1 FROM unsure WHERE flooded OR strange OR ordered OR elsewhere)
    ORDER BY lane, due_at, id
),
-- How many of each lane are among the first: of the only lane all, else counted without locking any. Of each lane its
-- share is read, and more of those that have all of their share among the first.
single AS MATERIALIZED (SELECT count(*) = 1 AND %(beyond_lane)s::integer IS NULL AS lane FROM want),
-- many lanes {
near AS MATERIALIZED (
    SELECT want.lane, want.priority, want.due_at AS from_due, want.id AS from_id, row.due_at, row.id
    FROM want
    CROSS JOIN moment
    CROSS JOIN LATERAL (
        SELECT due_at, id FROM penstock.waiting
        WHERE waiting.lane = want.lane AND (waiting.due_at, waiting.id) >= (want.due_at, want.id)
            AND waiting.due_at <= moment.us
            AND (waiting.expires_at IS NULL OR waiting.expires_at > moment.us)
            AND (
                waiting.avoid IS NULL OR waiting.avoid <> %(session)s::bigint
                OR waiting.due_at <= moment.us - %(fair)s::bigint
            )
        ORDER BY due_at, id
        LIMIT %(share)s::bigint
    ) AS row
    WHERE NOT (SELECT lane FROM single)
),
deep AS MATERIALIZED (
    SELECT lane, priority, from_due, from_id
    FROM (SELECT * FROM near ORDER BY priority DESC, due_at, id LIMIT %(limit)s::bigint) AS first
    GROUP BY lane, priority, from_due, from_id
    HAVING count(*) >= %(share)s::bigint
),
-- }
quota AS MATERIALIZED (
    SELECT lane, priority, due_at, id, %(limit)s::bigint AS jobs FROM want WHERE (SELECT lane FROM single)
    -- many lanes {
    UNION ALL
    SELECT lane, priority, from_due, from_id, count(*)
    FROM (
        SELECT lane, priority, from_due, from_id
        FROM (
            SELECT * FROM near WHERE lane NOT IN (SELECT lane FROM deep)
            UNION ALL
            SELECT deep.lane, deep.priority, deep.from_due, deep.from_id, row.due_at, row.id
            FROM deep
            CROSS JOIN moment
            CROSS JOIN LATERAL (
                SELECT due_at, id FROM penstock.waiting
                WHERE waiting.lane = deep.lane AND (waiting.due_at, waiting.id) >= (deep.from_due, deep.from_id)
                    AND waiting.due_at <= moment.us
                    AND (waiting.expires_at IS NULL OR waiting.expires_at > moment.us)
                    AND (
                        waiting.avoid IS NULL OR waiting.avoid <> %(session)s::bigint
                        OR waiting.due_at <= moment.us - %(fair)s::bigint
                    )
                ORDER BY due_at, id
                LIMIT %(limit)s::bigint
            ) AS row
        ) AS row
        -- Nothing is taken out of turn: what comes after the first of the lanes that were left out must wait.
        WHERE %(beyond_lane)s::integer IS NULL
            OR priority > %(beyond_priority)s::integer
            OR (priority = %(beyond_priority)s::integer AND (due_at, id) < (%(beyond_due)s::bigint, %(beyond_id)s::uuid))
        ORDER BY priority DESC, due_at, id
        LIMIT %(limit)s::bigint
    ) AS best
    GROUP BY lane, priority, from_due, from_id
    -- }
),
picked AS MATERIALIZED (
    SELECT row.at, row.lane, row.due_at, row.id, quota.priority
    FROM quota
    CROSS JOIN moment
    CROSS JOIN LATERAL (
        SELECT ctid AS at, lane, due_at, id FROM penstock.waiting
        WHERE waiting.lane = quota.lane AND (waiting.due_at, waiting.id) >= (quota.due_at, quota.id)
            AND waiting.due_at <= moment.us
            AND (waiting.expires_at IS NULL OR waiting.expires_at > moment.us)
            AND (
                waiting.avoid IS NULL OR waiting.avoid <> %(session)s::bigint
                OR waiting.due_at <= moment.us - %(fair)s::bigint
            )
        ORDER BY due_at, id
        LIMIT quota.jobs
        FOR UPDATE SKIP LOCKED
    ) AS row
    LIMIT 1000 -- Never reached: it tells the planner that this is not a large part of all that waits.
),
-- All that was picked is deleted, since none of it can have moved: rows of waiting are never updated but by an older
-- penstock, which changes their lane, and then they are not of the lane that was asked for.
gone AS (DELETE FROM penstock.waiting WHERE ctid = ANY (ARRAY (SELECT at FROM picked))),
taken AS MATERIALIZED (
    SELECT
        nextval('penstock.token') AS token, row.id, row.lane, row.due_at,
        -- Not beyond what the column can hold, whatever somebody has written there; nothing where there is no job.
        job.attempt + (job.attempt < 2147483647)::integer AS attempt, job.crashes, job.payload, job.policy,
        job.created_at, job.org, job.workspace, job.tags, job.parent, job.gates,
        job.snoozes
    FROM (
        SELECT picked.lane, picked.due_at, picked.id
        FROM picked
        ORDER BY picked.priority DESC, picked.due_at, picked.id
    ) AS row
    LEFT JOIN LATERAL (SELECT * FROM penstock.job WHERE job.id = row.id LIMIT 1) AS job ON true
),
held AS (
    INSERT INTO penstock.lease (token, id, attempt, session, claimed_at)
    SELECT token, id, attempt, %(session)s::bigint, moment.us FROM taken CROSS JOIN moment WHERE attempt IS NOT NULL
),
-- Where each lane goes on: its first row that was not taken here, so that none is ever passed by, not even one that
-- another claim has locked and may give back. Up to the horizon: what somebody has not committed may be due later.
next AS MATERIALIZED (
    SELECT quota.lane, row.due_at, row.id
    FROM quota
    LEFT JOIN LATERAL (
        SELECT seen.due_at, seen.id
        FROM (
            SELECT due_at, id FROM penstock.waiting
            WHERE waiting.lane = quota.lane AND (waiting.due_at, waiting.id) >= (quota.due_at, quota.id)
                AND waiting.due_at <= %(horizon)s::bigint
            ORDER BY due_at, id
            LIMIT 1 + quota.jobs
        ) AS seen
        WHERE seen.id NOT IN (SELECT picked.id FROM picked)
        ORDER BY seen.due_at, seen.id
        LIMIT 1
    ) AS row ON true
    -- many lanes {
    UNION ALL
    SELECT want.lane, row.due_at, row.id
    FROM want
    LEFT JOIN LATERAL (
        SELECT due_at, id FROM penstock.waiting
        WHERE waiting.lane = want.lane AND (waiting.due_at, waiting.id) >= (want.due_at, want.id)
            AND waiting.due_at <= %(horizon)s::bigint
        ORDER BY due_at, id
        LIMIT 1
    ) AS row ON true
    WHERE want.lane NOT IN (SELECT lane FROM quota)
    -- }
)
SELECT
    (SELECT status FROM worker),
    moment.us,
    pg_current_snapshot()::text,
    (SELECT elsewhere FROM unsure),
    (SELECT flooded FROM unsure),
    (SELECT strange FROM unsure),
    (SELECT ordered FROM unsure),
    EXISTS (
        SELECT 1 FROM penstock.waiting WHERE expires_at > %(expired)s::bigint AND expires_at <= moment.us
    ),
    (SELECT min(wake_at) FROM penstock.gate WHERE wake_at IS NOT NULL),
    found.*,
    onward.*,
    claimed.*
FROM moment
CROSS JOIN (SELECT array_agg(lane), array_agg(due_at), array_agg(id::text) FROM fresh) AS found
CROSS JOIN (SELECT array_agg(lane), array_agg(due_at), array_agg(id::text) FROM next) AS onward
CROSS JOIN (
    SELECT
        array_agg(token), array_agg(id::text), array_agg(lane), array_agg(attempt), array_agg(crashes),
        array_agg(payload), array_agg(policy), array_agg(created_at), array_agg(due_at),
        CASE WHEN count(org) > 0 THEN array_agg(org) END,
        CASE WHEN count(workspace) > 0 THEN array_agg(workspace) END,
        CASE WHEN count(tags) > 0 THEN array_agg(to_json(tags)::text) END,
        CASE WHEN count(parent) > 0 THEN array_agg(parent::text) END,
        CASE WHEN count(gates) > 0 THEN array_agg(gates) END,
        CASE WHEN count(snoozes) > 0 THEN array_agg(snoozes) END
    FROM taken
) AS claimed
