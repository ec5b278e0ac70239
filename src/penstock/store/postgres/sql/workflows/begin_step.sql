UPDATE penstock.step SET begun = true
WHERE workflow = %(workflow)s::uuid AND step = %(step)s::integer
RETURNING specs, open
