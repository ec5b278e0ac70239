UPDATE penstock.step SET pending = (
    SELECT count(*)
    FROM penstock.need
    JOIN penstock.step AS needed ON needed.workflow = need.workflow AND needed.step = need.needed
    WHERE need.workflow = %(id)s::uuid AND need.step = step.step AND NOT needed.begun
)
WHERE workflow = %(id)s::uuid
