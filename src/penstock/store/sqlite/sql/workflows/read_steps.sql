-- The names are gathered once for all steps: what a step needs is no prefix of a key.
WITH needs AS MATERIALIZED (
    SELECT need.step, json_group_array(needed.name ORDER BY need.needed) AS names
    FROM penstock_need AS need
    JOIN penstock_step AS needed ON needed.workflow = need.workflow AND needed.step = need.needed
    WHERE need.workflow = :workflow
    GROUP BY need.step
)
SELECT step.step, step.name, step.on_failure, step.size, step.begun, coalesce(needs.names, '[]')
FROM penstock_step AS step
LEFT JOIN needs ON needs.step = step.step
WHERE step.workflow = :workflow
ORDER BY step.step
