DELETE FROM penstock_limit
