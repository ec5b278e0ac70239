SELECT
    member.id, step.specs -> member.spec, member.payload, member.gates, workflow.created_at, workflow.id, step.name,
    workflow.stop
FROM penstock_member AS member
JOIN penstock_workflow AS workflow ON workflow.id = member.workflow
JOIN penstock_step AS step ON step.workflow = member.workflow AND step.step = member.step
WHERE member.id = :id AND member.released = 0
