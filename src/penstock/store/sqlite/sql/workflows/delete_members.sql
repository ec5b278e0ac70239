DELETE FROM penstock_member WHERE workflow IN (SELECT value FROM json_each(:workflows))
