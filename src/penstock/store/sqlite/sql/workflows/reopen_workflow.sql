UPDATE penstock_workflow
SET state = 0, stop = 0, ended_at = NULL, compensate = :compensate,
    open = (SELECT count(*) FROM penstock_step AS step WHERE step.workflow = :id AND step.begun = 0)
WHERE id = :id
