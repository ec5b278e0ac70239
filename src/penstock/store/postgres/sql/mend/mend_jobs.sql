-- Of these jobs, pointers that contradict another: an outcome rules over every pointer, a lease over a job that waits,
-- one that may be claimed over one that is parked, and of several in waiting the one where the job says that it is. A
-- pointer without a job goes. All is decided by one snapshot, in which both were there: nothing that others move
-- meanwhile is taken for a contradiction. Answers (id, where it was, what rules).
WITH known AS MATERIALIZED (
    SELECT
        given.id, place.lane, place.due_at,
        CASE
            WHEN job.id IS NULL THEN 'there is no such job'
            WHEN EXISTS (SELECT 1 FROM penstock.outcome WHERE outcome.id = given.id) THEN 'it has ended'
        END AS over,
        EXISTS (SELECT 1 FROM penstock.lease WHERE lease.id = given.id) AS leased
    FROM (SELECT DISTINCT id FROM unnest(%(ids)s::uuid[]) AS named (id)) AS given
    LEFT JOIN penstock.job ON job.id = given.id
    LEFT JOIN LATERAL (
        SELECT waiting.lane, waiting.due_at FROM penstock.waiting
        WHERE waiting.id = given.id
        ORDER BY waiting.lane = job.lane AND waiting.due_at = job.due_at DESC, waiting.lane, waiting.due_at
        LIMIT 1
    ) AS place ON true
),
leases AS (
    DELETE FROM penstock.lease USING known WHERE lease.id = known.id AND known.over IS NOT NULL
    RETURNING lease.id, 'lease' AS place, known.over AS why
),
lines AS (
    DELETE FROM penstock.waiting USING known
    WHERE waiting.id = known.id
        AND (
            known.over IS NOT NULL OR known.leased
            OR waiting.lane <> known.lane OR waiting.due_at <> known.due_at
        )
    RETURNING waiting.id, 'waiting' AS place,
        coalesce(known.over, CASE WHEN known.leased THEN 'it is under way' ELSE 'it waits elsewhere too' END) AS why
),
aside AS (
    DELETE FROM penstock.parked USING known
    WHERE parked.id = known.id AND (known.over IS NOT NULL OR known.leased OR known.lane IS NOT NULL)
    RETURNING parked.id, 'parked' AS place,
        coalesce(known.over, CASE WHEN known.leased THEN 'it is under way' ELSE 'it may be claimed' END) AS why
)
SELECT id::text, place, why FROM leases
UNION ALL
SELECT id::text, place, why FROM lines
UNION ALL
SELECT id::text, place, why FROM aside
