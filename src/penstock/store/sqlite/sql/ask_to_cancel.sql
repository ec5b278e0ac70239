UPDATE penstock_lease SET cancel = 1 WHERE token = :token
