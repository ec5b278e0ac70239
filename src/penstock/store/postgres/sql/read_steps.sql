SELECT
    step.step, step.name, step.on_failure, step.size, step.begun,
    (
        SELECT coalesce(json_agg(needed.name ORDER BY need.needed), '[]')::text
        FROM penstock.need
        JOIN penstock.step AS needed ON needed.workflow = need.workflow AND needed.step = need.needed
        WHERE need.workflow = step.workflow AND need.step = step.step
    )
FROM penstock.step
WHERE step.workflow = %(workflow)s::uuid
ORDER BY step.step
