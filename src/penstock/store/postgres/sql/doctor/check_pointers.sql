-- What must hold and does not (store/sql/faults.py): (fault, in which tables, how many, one of them). Reads every job.
WITH pointer AS (
    SELECT id, 'waiting' AS place, lane, due_at, NULL::bigint AS gate, NULL::bigint AS session FROM penstock.waiting
    UNION ALL
    SELECT id, 'parked', lane, due_at, gate, NULL FROM penstock.parked
    UNION ALL
    SELECT id, 'lease', NULL, NULL, NULL, session FROM penstock.lease
    UNION ALL
    SELECT id, 'outcome', NULL, NULL, NULL, NULL FROM penstock.outcome
),
pointed AS (
    SELECT
        id, string_agg(place, ' and ' ORDER BY place) AS places, count(*) AS pointers, max(lane) AS lane,
        max(due_at) AS due_at, max(gate) AS gate, max(session) AS session
    FROM pointer
    GROUP BY id
),
wrong AS (
    SELECT
        coalesce(job.id, pointed.id)::text AS id, pointed.places,
        CASE
            WHEN job.id IS NULL THEN 'jobless'
            WHEN coalesce(pointed.lane, job.lane) NOT IN (SELECT lane.lane FROM penstock.lane) THEN 'laneless'
            WHEN pointed.id IS NULL THEN 'stateless'
            WHEN pointed.pointers > 1 THEN 'several'
            WHEN pointed.lane <> job.lane OR pointed.due_at <> job.due_at THEN 'displaced'
            WHEN pointed.gate IS NOT NULL AND NOT EXISTS (SELECT 1 FROM penstock.gate WHERE gate.gate = pointed.gate)
                THEN 'gateless'
            WHEN pointed.session IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM penstock.worker WHERE worker.session = pointed.session)
                THEN 'ownerless'
        END AS fault
    FROM penstock.job
    FULL JOIN pointed ON pointed.id = job.id
    UNION ALL
    SELECT outcome.id::text, 'outcome', 'unknown'
    FROM penstock.outcome
    JOIN penstock.job ON job.id = outcome.id
    WHERE outcome.state NOT IN ({COMPLETED}, {DEAD}, {CANCELLED}, {EXPIRED})
    UNION ALL
    SELECT id, 'worker', 'unreadable' FROM penstock.worker  -- By their shape: there is no test for JSON before 16.
    WHERE types !~ '^(null|\[.*\])$' OR capabilities !~ '^\[.*\]$' OR queues !~ '^\[.*\]$' OR resources !~ '^\{.*\}$'
    UNION ALL
    SELECT type, 'lane', 'unreadable' FROM penstock.lane WHERE resources !~ '^(\{.*\})?$'
    UNION ALL
    SELECT name, 'gate', 'miscounted' FROM penstock.gate
    WHERE period IS NOT NULL AND made <> (SELECT count(*) FROM penstock.permit WHERE permit.gate = gate.gate)
)
SELECT fault, CASE WHEN fault IN ('jobless', 'several', 'unreadable') THEN places END, count(*), min(id)
FROM wrong
WHERE fault IS NOT NULL
GROUP BY 1, 2
ORDER BY 1, 2
