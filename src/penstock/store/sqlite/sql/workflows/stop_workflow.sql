-- Steps that have not begun never will, and are no longer waited for.
UPDATE penstock_workflow
SET
    open = open - iif(
        stop = 0,
        (SELECT count(*) FROM penstock_step AS step WHERE step.workflow = penstock_workflow.id AND step.begun = 0),
        0
    ),
    stop = max(stop, :stop)
WHERE id = :id
