UPDATE penstock.workflow SET open = open - 1 WHERE id = %(workflow)s::uuid RETURNING open, stop
