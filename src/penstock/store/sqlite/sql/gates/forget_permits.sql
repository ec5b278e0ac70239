DELETE FROM penstock_permit WHERE gate IN (SELECT value FROM json_each(:gates))
