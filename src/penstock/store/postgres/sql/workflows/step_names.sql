SELECT name FROM penstock.step WHERE workflow = %(workflow)s::uuid ORDER BY step
