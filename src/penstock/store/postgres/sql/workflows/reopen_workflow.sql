UPDATE penstock.workflow
SET state = 0, stop = 0, ended_at = NULL, compensate = %(compensate)s::text,
    open = (SELECT count(*) FROM penstock.step WHERE step.workflow = %(id)s::uuid AND NOT step.begun)
WHERE id = %(id)s::uuid
