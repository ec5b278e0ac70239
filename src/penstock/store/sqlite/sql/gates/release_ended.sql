DELETE FROM penstock_hold
WHERE token IN (SELECT value ->> 0 FROM json_each(:rows))
RETURNING gate, token, at
