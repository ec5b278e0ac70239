-- Workflows under way that count wrongly what is left of them, and rows of those that are gone (store/sql/faults.py): (fault,
-- how many, one of them). Such a one would never end, or end too soon.
WITH step AS MATERIALIZED (
    SELECT
        step.workflow, step.step, step.begun, step.pending, step.open,
        (
            SELECT count(*) FROM penstock.member
            WHERE member.workflow = step.workflow AND member.step = step.step AND member.state IS NULL
        ) AS left_over
    FROM penstock.workflow
    JOIN penstock.step ON step.workflow = workflow.id
    WHERE workflow.state = 0
),
wrong AS (
    SELECT step.workflow AS id, 'jobs' AS fault
    FROM step
    WHERE step.open <> step.left_over
    UNION
    SELECT workflow.id, 'steps'
    FROM penstock.workflow
    WHERE workflow.state = 0
        AND workflow.open <> (
            SELECT count(*) FROM step
            WHERE step.workflow = workflow.id AND CASE WHEN step.begun THEN step.open > 0 ELSE workflow.stop = 0 END
        )
    UNION
    SELECT step.workflow, 'needs'
    FROM step
    JOIN penstock.workflow ON workflow.id = step.workflow AND workflow.stop = 0
    WHERE NOT step.begun
        AND step.pending <> (
            SELECT count(*)
            FROM penstock.need
            JOIN step AS needed ON needed.workflow = need.workflow AND needed.step = need.needed
            WHERE need.workflow = step.workflow AND need.step = step.step AND NOT (needed.begun AND needed.open = 0)
        )
    UNION
    SELECT part.workflow, 'gone'
    FROM (SELECT workflow FROM penstock.step UNION SELECT workflow FROM penstock.member) AS part
    WHERE NOT EXISTS (SELECT 1 FROM penstock.workflow WHERE workflow.id = part.workflow)
)
SELECT fault, count(*), min(id::text) FROM wrong GROUP BY fault ORDER BY fault
