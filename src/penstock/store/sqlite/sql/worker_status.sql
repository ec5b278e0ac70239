SELECT status FROM penstock_worker WHERE session = :session
