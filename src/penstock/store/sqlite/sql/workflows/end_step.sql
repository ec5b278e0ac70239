UPDATE penstock_workflow SET open = open - 1 WHERE id = :workflow RETURNING open, stop
