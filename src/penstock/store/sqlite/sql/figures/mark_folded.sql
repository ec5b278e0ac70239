UPDATE penstock_page SET folded = 1 WHERE entry IN (SELECT value FROM json_each(:entries))
