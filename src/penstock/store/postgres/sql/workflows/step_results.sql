SELECT id::text, spec, state, result FROM penstock.member
WHERE workflow = %(workflow)s::uuid AND step = %(step)s::integer
ORDER BY place
