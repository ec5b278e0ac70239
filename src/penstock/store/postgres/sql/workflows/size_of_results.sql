SELECT step.step, (
    SELECT coalesce(sum(octet_length(member.result)), 0)::bigint FROM penstock.member
    WHERE member.workflow = step.workflow AND member.step = step.step
), step.many, step.specs
FROM penstock.step
WHERE step.workflow = %(workflow)s::uuid AND step.name = %(step)s::text
