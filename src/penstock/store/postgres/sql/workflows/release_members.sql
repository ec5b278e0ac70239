UPDATE penstock.member SET released = true
WHERE workflow = %(workflow)s::uuid AND step = %(step)s::integer AND NOT released AND state IS NULL
RETURNING place, id::text, spec, payload, gates
