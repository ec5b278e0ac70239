DELETE FROM penstock_lease WHERE token IN (SELECT value ->> 0 FROM json_each(:rows))
