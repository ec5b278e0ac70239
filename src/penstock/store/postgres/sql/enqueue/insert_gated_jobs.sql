-- Jobs that share everything but id, payload, keys and due time. Nothing is stored while their lane is missing: it is
-- made first. Where none has gates, a unique key or a due time of its own, the parts marked "gates" are left out.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
route AS MATERIALIZED (
    SELECT lane FROM penstock.lane
    WHERE type = %(type)s::text AND queue = %(queue)s::text AND capability = %(capability)s::text
        AND resources = %(resources)s::text AND priority = %(priority)s::integer
),
new AS (
    INSERT INTO penstock.job (
        id, lane, due_at, created_at, payload, policy, org, workspace, tags, parent, retried_from
        -- gates {
        , unique_key, gates
        -- }
    )
    SELECT
        row.id, route.lane,
        coalesce(
            -- gates {
            row.at,
            -- }
            %(at)s::bigint, moment.us + %(delay)s::bigint
        ),
        moment.us, row.payload,
        %(policy)s::text, %(org)s::text, %(workspace)s::text, %(tags)s::text[], %(parent)s::uuid,
        %(retried_from)s::uuid
        -- gates {
        , row.unique_key, row.gates
        -- }
    FROM unnest(
        %(ids)s::uuid[], %(payloads)s::text[]
        -- gates {
        , %(unique_keys)s::text[], %(gates)s::text[], %(ats)s::bigint[]
        -- }
    ) AS row (
        id, payload
        -- gates {
        , unique_key, gates, at
        -- }
    )
    CROSS JOIN route
    CROSS JOIN moment
    ON CONFLICT (id) DO NOTHING
    RETURNING id, lane, due_at
),
placed AS (
    INSERT INTO penstock.waiting (lane, due_at, id, expires_at, org)
    SELECT lane, due_at, id, due_at + %(ttl)s::bigint, %(org)s::text FROM new
    -- gates {
    CROSS JOIN moment
    -- Asked in this way, the ids are hashed: a bulk may have 100,000 of them.
    WHERE due_at > moment.us OR (id IN (SELECT unnest(%(parked)s::uuid[]))) IS NOT TRUE
    -- }
)
-- gates {
, aside AS (
    INSERT INTO penstock.parked (gate, lane, due_at, id, expires_at, org)
    SELECT row.gate, route.lane, due.at, row.id, due.at + %(ttl)s::bigint, coalesce(%(org)s::text, '')
    FROM unnest(%(parked)s::uuid[], %(before)s::bigint[], %(parked_ats)s::bigint[]) AS row (id, gate, at)
    CROSS JOIN route
    CROSS JOIN moment
    CROSS JOIN LATERAL (SELECT coalesce(row.at, %(at)s::bigint, moment.us + %(delay)s::bigint) AS at) AS due
    WHERE due.at <= moment.us AND (row.id IN (SELECT id FROM new)) IS TRUE
)
-- }
SELECT
    (SELECT lane FROM route),
    CASE WHEN count(*) < cardinality(%(ids)s::uuid[]) THEN coalesce(array_agg(id::text), '{}') END,
    (
        SELECT pg_notify(%(channel)s::text, pg_current_xact_id()::text)
        WHERE %(wake)s::boolean AND %(channel)s::text IS NOT NULL AND EXISTS (SELECT 1 FROM route)
    )::text
FROM new
