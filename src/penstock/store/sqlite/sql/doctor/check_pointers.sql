-- What must hold and does not (store/sql/faults.py): (fault, in which tables, how many, one of them). Reads every job.
WITH pointer AS (
    SELECT seq, 'ready' AS place, lane, due_at FROM penstock_ready
    UNION ALL
    SELECT seq, 'scheduled', NULL, due_at FROM penstock_scheduled
    UNION ALL
    SELECT seq, 'parked', lane, due_at FROM penstock_parked
    UNION ALL
    SELECT seq, 'lease', NULL, NULL FROM penstock_lease
    UNION ALL
    SELECT seq, 'outcome', NULL, NULL FROM penstock_outcome
),
pointed AS MATERIALIZED (
    SELECT
        seq, group_concat(place, ' and ' ORDER BY place) AS places, count(*) AS pointers, max(lane) AS lane,
        max(due_at) AS due_at
    FROM pointer
    GROUP BY seq
),
wrong AS (
    SELECT
        job.id, pointed.places,
        CASE
            WHEN NOT EXISTS (SELECT 1 FROM penstock_lane AS lane WHERE lane.lane = job.lane) THEN 'laneless'
            WHEN pointed.seq IS NULL THEN 'stateless'
            WHEN pointed.pointers > 1 THEN 'several'
            WHEN pointed.lane <> job.lane OR pointed.due_at <> job.due_at THEN 'displaced'
            WHEN pointed.places = 'parked' AND NOT EXISTS (
                SELECT 1 FROM penstock_parked AS parked JOIN penstock_gate USING (gate) WHERE parked.seq = job.seq
            ) THEN 'gateless'
            WHEN pointed.places = 'lease' AND NOT EXISTS (
                SELECT 1 FROM penstock_lease AS lease JOIN penstock_worker USING (session) WHERE lease.seq = job.seq
            ) THEN 'ownerless'
        END AS fault
    FROM penstock_job AS job
    LEFT JOIN pointed ON pointed.seq = job.seq
    UNION ALL  -- One FULL JOIN would take the square of the time.
    SELECT 'number ' || pointed.seq, pointed.places, 'jobless'
    FROM pointed
    WHERE NOT EXISTS (SELECT 1 FROM penstock_job AS job WHERE job.seq = pointed.seq)
    UNION ALL
    SELECT job.id, 'outcome', 'unknown'
    FROM penstock_outcome AS outcome
    JOIN penstock_job AS job ON job.seq = outcome.seq
    WHERE outcome.state NOT IN ({COMPLETED}, {DEAD}, {CANCELLED}, {EXPIRED})
    UNION ALL
    SELECT id, 'worker', 'unreadable' FROM penstock_worker
    WHERE NOT (
        json_valid(types) AND json_valid(capabilities) AND json_valid(coalesce(queues, '[]'))
        AND json_valid(coalesce(resources, '{}'))
    )
    UNION ALL
    SELECT type, 'lane', 'unreadable' FROM penstock_lane WHERE resources <> '' AND NOT json_valid(resources)
    UNION ALL
    SELECT name, 'gate', 'miscounted' FROM penstock_gate AS gate
    WHERE period IS NOT NULL AND made <> (SELECT count(*) FROM penstock_permit AS permit WHERE permit.gate = gate.gate)
)
SELECT fault, CASE WHEN fault IN ('jobless', 'several', 'unreadable') THEN places END, count(*), min(id)
FROM wrong
WHERE fault IS NOT NULL
GROUP BY 1, 2
ORDER BY 1, 2
