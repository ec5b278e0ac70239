-- Jobs that are in no state or in several, and pointers to no job: (what is wrong, how many, one of them).
WITH pointer AS (
    SELECT id, 'waiting' AS place, lane, due_at FROM penstock.waiting
    UNION ALL
    SELECT id, 'parked', lane, due_at FROM penstock.parked
    UNION ALL
    SELECT id, 'lease', NULL, NULL FROM penstock.lease
    UNION ALL
    SELECT id, 'outcome', NULL, NULL FROM penstock.outcome
),
pointed AS (
    SELECT id, string_agg(place, ' and ' ORDER BY place) AS places, max(lane) AS lane, max(due_at) AS due_at
    FROM pointer
    GROUP BY id
),
wrong AS (
    SELECT
        coalesce(job.id, pointed.id) AS id,
        CASE
            WHEN job.id IS NULL THEN 'in ' || pointed.places || ' without a job'
            WHEN pointed.id IS NULL THEN 'a job that is in no state'
            WHEN pointed.places LIKE '%% and %%' THEN 'a job in ' || pointed.places
            WHEN coalesce(pointed.lane, job.lane) NOT IN (SELECT lane.lane FROM penstock.lane)
                THEN 'a job in a lane that does not exist'
            WHEN pointed.lane <> job.lane OR pointed.due_at <> job.due_at THEN 'waiting at another place than its job'
        END AS fault
    FROM penstock.job
    FULL JOIN pointed ON pointed.id = job.id
)
SELECT fault, count(*), min(id::text) FROM wrong WHERE fault IS NOT NULL GROUP BY fault ORDER BY fault
