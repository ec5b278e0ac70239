UPDATE penstock_step
SET pending = (
    SELECT count(*)
    FROM penstock_need AS need
    JOIN penstock_step AS needed ON needed.workflow = need.workflow AND needed.step = need.needed
    WHERE need.workflow = :id AND need.step = penstock_step.step AND needed.begun = 0
)
WHERE workflow = :id
