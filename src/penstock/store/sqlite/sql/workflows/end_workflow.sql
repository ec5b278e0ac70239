UPDATE penstock_workflow SET state = iif(stop = 0, 1, stop), ended_at = :now WHERE id = :id RETURNING state, compensate
