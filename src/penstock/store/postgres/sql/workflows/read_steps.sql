-- The names are gathered once for all steps: what a step needs is no prefix of a key.
WITH needs AS MATERIALIZED (
    SELECT need.step, json_agg(needed.name ORDER BY need.needed)::text AS names
    FROM penstock.need
    JOIN penstock.step AS needed ON needed.workflow = need.workflow AND needed.step = need.needed
    WHERE need.workflow = %(workflow)s::uuid
    GROUP BY need.step
)
SELECT step.step, step.name, step.on_failure, step.size, step.begun, coalesce(needs.names, '[]')
FROM penstock.step
LEFT JOIN needs ON needs.step = step.step
WHERE step.workflow = %(workflow)s::uuid
ORDER BY step.step
