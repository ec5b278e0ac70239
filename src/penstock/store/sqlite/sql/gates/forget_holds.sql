DELETE FROM penstock_hold WHERE token NOT IN (SELECT token FROM penstock_lease)
