-- Jobs that share everything but id and payload. Nothing is stored while their lane is missing: it is made first.
-- Where none has gates, the parts marked "gates" are left out.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
route AS MATERIALIZED (
    SELECT lane FROM penstock.lane
    WHERE type = %(type)s::text AND queue = %(queue)s::text AND capability = %(capability)s::text
        AND resources = %(resources)s::text AND priority = %(priority)s::integer
),
new AS (
    INSERT INTO penstock.job (
        id, lane, due_at, created_at, payload, policy, org, workspace, tags, parent, retried_from, unique_key
        -- gates {
        , gates
        -- }
    )
    SELECT
        row.id, route.lane, coalesce(%(at)s::bigint, moment.us + %(delay)s::bigint), moment.us, row.payload,
        %(policy)s::text, %(org)s::text, %(workspace)s::text, %(tags)s::text[], %(parent)s::uuid,
        %(retried_from)s::uuid, %(unique_key)s::text
        -- gates {
        , (%(gates)s::text[])[row.nth]
        -- }
    FROM unnest(%(ids)s::uuid[], %(payloads)s::text[]) WITH ORDINALITY AS row (id, payload, nth)
    CROSS JOIN route
    CROSS JOIN moment
    ON CONFLICT (id) DO NOTHING
    RETURNING id, lane, due_at
),
placed AS (
    INSERT INTO penstock.waiting (lane, due_at, id, expires_at)
    SELECT lane, due_at, id, due_at + %(ttl)s::bigint FROM new
    -- gates {
    CROSS JOIN moment WHERE due_at > moment.us OR id <> ALL (%(parked)s::uuid[])
    -- }
)
-- gates {
, aside AS (
    INSERT INTO penstock.parked (gate, lane, due_at, id, expires_at)
    SELECT row.gate, new.lane, new.due_at, new.id, new.due_at + %(ttl)s::bigint
    FROM unnest(%(parked)s::uuid[], %(before)s::bigint[]) AS row (id, gate)
    JOIN new ON new.id = row.id
    CROSS JOIN moment
    WHERE new.due_at <= moment.us
)
-- }
SELECT
    (SELECT lane FROM route),
    CASE WHEN count(*) < cardinality(%(ids)s::uuid[]) THEN coalesce(array_agg(id::text), '{}') END,
    (SELECT pg_notify(%(channel)s::text, pg_current_xact_id()::text) WHERE %(wake)s::boolean)::text
FROM new
