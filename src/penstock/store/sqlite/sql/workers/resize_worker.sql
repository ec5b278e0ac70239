UPDATE penstock_worker SET slots = :slots WHERE session = :session
