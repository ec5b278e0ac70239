SELECT state, compensate FROM penstock_workflow WHERE id = :id
