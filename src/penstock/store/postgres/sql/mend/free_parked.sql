-- Jobs that are parked before a gate which does not exist, which nobody would ever open: they wait as others do, and the
-- gates that they name are made again by their claim. Looks at one row of each gate. Answers how many, and one of them.
WITH RECURSIVE stood AS (
    SELECT min(parked.gate) AS gate FROM penstock.parked
    UNION ALL
    SELECT (SELECT parked.gate FROM penstock.parked WHERE parked.gate > stood.gate ORDER BY parked.gate LIMIT 1)
    FROM stood WHERE stood.gate IS NOT NULL
),
missing AS MATERIALIZED (
    SELECT stood.gate FROM stood
    WHERE stood.gate IS NOT NULL AND NOT EXISTS (SELECT 1 FROM penstock.gate WHERE gate.gate = stood.gate)
),
lost AS MATERIALIZED (
    SELECT parked.ctid AS at FROM penstock.parked
    WHERE parked.gate = ANY (ARRAY (SELECT missing.gate FROM missing))
    LIMIT %(limit)s::bigint
    FOR UPDATE SKIP LOCKED
),
freed AS (
    DELETE FROM penstock.parked WHERE parked.ctid = ANY (ARRAY (SELECT lost.at FROM lost))
    RETURNING parked.lane, parked.due_at, parked.id, parked.expires_at, parked.org
),
ready AS (
    INSERT INTO penstock.waiting (lane, due_at, id, expires_at, org)
    SELECT freed.lane, freed.due_at, freed.id, freed.expires_at, nullif(freed.org, '')
    FROM freed
    WHERE EXISTS (SELECT 1 FROM penstock.job WHERE job.id = freed.id)
    ON CONFLICT DO NOTHING
)
SELECT
    count(*), min(freed.id::text),
    (SELECT pg_notify(%(channel)s::text, '') WHERE %(channel)s::text IS NOT NULL AND EXISTS (SELECT 1 FROM freed))::text
FROM freed
