-- Workflows under way that count wrongly what is left of them, and rows of those that are gone (store/sql/faults.py): (fault,
-- how many, one of them). Such a one would never end, or end too soon.
WITH wrong AS (
    SELECT workflow.id, 'jobs' AS fault
    FROM penstock_workflow AS workflow
    JOIN penstock_step AS step ON step.workflow = workflow.id
    WHERE workflow.state = 0
        AND step.open <> (
            SELECT count(*) FROM penstock_member AS member
            WHERE member.workflow = step.workflow AND member.step = step.step AND member.state IS NULL
        )
    UNION
    SELECT workflow.id, 'steps'
    FROM penstock_workflow AS workflow
    WHERE workflow.state = 0
        AND workflow.open <> (
            SELECT count(*) FROM penstock_step AS step
            WHERE step.workflow = workflow.id AND iif(step.begun, step.open > 0, workflow.stop = 0)
        )
    UNION
    SELECT workflow.id, 'needs'
    FROM penstock_workflow AS workflow
    JOIN penstock_step AS step ON step.workflow = workflow.id
    WHERE workflow.state = 0 AND workflow.stop = 0 AND NOT step.begun
        AND step.pending <> (
            SELECT count(*)
            FROM penstock_need AS need
            JOIN penstock_step AS needed ON needed.workflow = need.workflow AND needed.step = need.needed
            WHERE need.workflow = step.workflow AND need.step = step.step AND NOT (needed.begun AND needed.open = 0)
        )
    UNION
    SELECT part.workflow, 'gone'
    FROM (SELECT workflow FROM penstock_step UNION SELECT workflow FROM penstock_member) AS part
    WHERE NOT EXISTS (SELECT 1 FROM penstock_workflow AS workflow WHERE workflow.id = part.workflow)
)
SELECT fault, count(*), min(id) FROM wrong GROUP BY fault ORDER BY fault
