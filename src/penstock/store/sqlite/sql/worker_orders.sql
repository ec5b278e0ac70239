SELECT status, slots FROM penstock_worker WHERE session = :session
