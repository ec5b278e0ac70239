UPDATE penstock_step SET begun = 1 WHERE workflow = :workflow AND step = :step RETURNING specs, open
