DELETE FROM penstock_permit WHERE gate = :gate AND at = :at AND token = :token
