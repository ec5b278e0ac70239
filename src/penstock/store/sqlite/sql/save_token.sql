UPDATE penstock_meta SET value = :token WHERE key = 'token'
