SELECT
    workflow.id::text, workflow.name, workflow.state, workflow.stop, workflow.created_at, workflow.ended_at,
    workflow.parent::text,
    (SELECT coalesce(sum(step.size), 0)::bigint FROM penstock.step WHERE step.workflow = workflow.id),
    (SELECT coalesce(sum(step.size - step.open), 0)::bigint FROM penstock.step WHERE step.workflow = workflow.id)
FROM penstock.workflow
WHERE (%(before)s::uuid IS NULL OR workflow.id < %(before)s::uuid)
    AND (%(name)s::text IS NULL OR workflow.name = %(name)s::text)
    AND (%(parent)s::uuid IS NULL OR workflow.parent = %(parent)s::uuid)
    AND (
        %(states)s::text IS NULL
        OR workflow.state IN (SELECT value::smallint FROM json_array_elements_text(%(states)s::text::json))
    )
ORDER BY workflow.id DESC
LIMIT %(limit)s::bigint
