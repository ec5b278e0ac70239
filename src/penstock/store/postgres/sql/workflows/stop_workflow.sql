-- Steps that have not begun never will, and are no longer waited for.
UPDATE penstock.workflow
SET
    open = open - CASE WHEN stop = 0 THEN (
        SELECT count(*) FROM penstock.step WHERE step.workflow = workflow.id AND NOT step.begun
    ) ELSE 0 END,
    stop = greatest(stop, %(stop)s::smallint)
WHERE id = %(id)s::uuid
