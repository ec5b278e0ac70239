DELETE FROM penstock_lease WHERE cancel = 1 AND token IN (SELECT value FROM json_each(:tokens)) RETURNING token
