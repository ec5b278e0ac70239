SELECT
    workflow.id::text, workflow.name, workflow.state, workflow.stop, workflow.created_at, workflow.ended_at,
    workflow.parent::text,
    (SELECT coalesce(sum(step.size), 0)::bigint FROM penstock.step WHERE step.workflow = workflow.id),
    (SELECT coalesce(sum(step.size - step.open), 0)::bigint FROM penstock.step WHERE step.workflow = workflow.id)
FROM penstock.workflow
WHERE workflow.id = %(id)s::uuid
