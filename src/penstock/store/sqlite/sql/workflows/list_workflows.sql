SELECT
    workflow.id, workflow.name, workflow.state, workflow.stop, workflow.created_at, workflow.ended_at, workflow.parent,
    (SELECT coalesce(sum(step.size), 0) FROM penstock_step AS step WHERE step.workflow = workflow.id),
    (SELECT coalesce(sum(step.size - step.open), 0) FROM penstock_step AS step WHERE step.workflow = workflow.id)
FROM penstock_workflow AS workflow
WHERE (:before IS NULL OR workflow.id < :before) AND (:name IS NULL OR workflow.name = :name)
    AND (:parent IS NULL OR workflow.parent = :parent)
    AND (:states IS NULL OR workflow.state IN (SELECT value FROM json_each(:states)))
ORDER BY workflow.id DESC
LIMIT :limit
