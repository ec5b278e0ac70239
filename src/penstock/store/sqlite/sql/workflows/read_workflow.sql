SELECT
    workflow.id, workflow.name, workflow.state, workflow.stop, workflow.created_at, workflow.ended_at, workflow.parent,
    (SELECT coalesce(sum(step.size), 0) FROM penstock_step AS step WHERE step.workflow = workflow.id),
    (SELECT coalesce(sum(step.size - step.open), 0) FROM penstock_step AS step WHERE step.workflow = workflow.id)
FROM penstock_workflow AS workflow
WHERE workflow.id = :id
