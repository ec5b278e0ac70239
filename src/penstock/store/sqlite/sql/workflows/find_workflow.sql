SELECT state, stop, compensate FROM penstock_workflow WHERE id = :id
