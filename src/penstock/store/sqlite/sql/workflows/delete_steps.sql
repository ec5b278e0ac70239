DELETE FROM penstock_step WHERE workflow IN (SELECT value FROM json_each(:workflows))
