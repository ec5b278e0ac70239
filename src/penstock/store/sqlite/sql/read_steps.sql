SELECT
    step.step, step.name, step.on_failure, step.size, step.begun,
    (
        SELECT json_group_array(needed.name)
        FROM penstock_need AS need
        JOIN penstock_step AS needed ON needed.workflow = need.workflow AND needed.step = need.needed
        WHERE need.workflow = step.workflow AND need.step = step.step
    )
FROM penstock_step AS step
WHERE step.workflow = :workflow
ORDER BY step.step
