DELETE FROM penstock_need WHERE workflow IN (SELECT value FROM json_each(:workflows))
