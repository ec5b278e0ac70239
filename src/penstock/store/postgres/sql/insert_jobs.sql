-- Jobs that share everything but id and payload. Nothing is stored while their lane is missing: it is made first.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
route AS MATERIALIZED (
    SELECT lane FROM penstock.lane
    WHERE type = %(type)s::text AND queue = %(queue)s::text AND capability = %(capability)s::text
        AND resources = %(resources)s::text AND priority = %(priority)s::integer
),
new AS (
    INSERT INTO penstock.job (
        id, lane, due_at, created_at, payload, policy, org, workspace, tags, parent, retried_from, unique_key
    )
    SELECT
        row.id, route.lane, coalesce(%(at)s::bigint, moment.us + %(delay)s::bigint), moment.us, row.payload,
        %(policy)s::text, %(org)s::text, %(workspace)s::text, %(tags)s::text[], %(parent)s::uuid,
        %(retried_from)s::uuid, %(unique_key)s::text
    FROM unnest(%(ids)s::uuid[], %(payloads)s::text[]) AS row (id, payload)
    CROSS JOIN route
    CROSS JOIN moment
    ON CONFLICT (id) DO NOTHING
    RETURNING id, lane, due_at
),
placed AS (
    INSERT INTO penstock.waiting (lane, due_at, id, expires_at)
    SELECT lane, due_at, id, due_at + %(ttl)s::bigint FROM new
)
SELECT
    (SELECT lane FROM route),
    CASE WHEN count(*) < cardinality(%(ids)s::uuid[]) THEN coalesce(array_agg(id::text), '{}') END,
    (SELECT pg_notify(%(channel)s::text, pg_current_xact_id()::text) WHERE %(wake)s::boolean)::text
FROM new
