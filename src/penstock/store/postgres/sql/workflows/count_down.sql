UPDATE penstock.step SET open = open - %(ended)s::integer, failed = failed + %(failed)s::integer
WHERE workflow = %(workflow)s::uuid AND step = %(step)s::integer
RETURNING open, on_failure
