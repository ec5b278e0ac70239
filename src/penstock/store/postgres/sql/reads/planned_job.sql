SELECT
    member.id::text, (step.specs::json -> member.spec)::text, member.payload, member.gates, workflow.created_at,
    workflow.id::text, step.name, workflow.stop
FROM penstock.member
JOIN penstock.workflow ON workflow.id = member.workflow
JOIN penstock.step ON step.workflow = member.workflow AND step.step = member.step
WHERE member.id = %(id)s::uuid AND NOT member.released
