SELECT value FROM penstock_meta WHERE key = 'token'
