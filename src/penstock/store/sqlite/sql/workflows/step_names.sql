SELECT name FROM penstock_step WHERE workflow = :workflow ORDER BY step
