SELECT step.step, (
    SELECT coalesce(sum(length(CAST(member.result AS BLOB))), 0) FROM penstock_member AS member
    WHERE member.workflow = step.workflow AND member.step = step.step
), step.many, step.specs
FROM penstock_step AS step
WHERE step.workflow = :workflow AND step.name = :step
