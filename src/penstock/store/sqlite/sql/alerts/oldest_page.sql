SELECT at FROM penstock_page WHERE folded = 0 ORDER BY entry LIMIT 1
