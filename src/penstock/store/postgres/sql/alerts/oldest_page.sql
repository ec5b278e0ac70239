SELECT at FROM penstock.page WHERE NOT folded ORDER BY entry LIMIT 1
