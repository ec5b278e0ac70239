DELETE FROM penstock_hold
WHERE token IN (SELECT CAST(key AS INTEGER) FROM json_each(:done))
RETURNING gate
