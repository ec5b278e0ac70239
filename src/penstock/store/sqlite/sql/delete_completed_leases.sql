DELETE FROM penstock_lease WHERE token IN (SELECT CAST(key AS INTEGER) FROM json_each(:done))
