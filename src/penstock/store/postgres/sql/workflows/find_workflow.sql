SELECT state, stop, compensate FROM penstock.workflow WHERE id = %(id)s::uuid FOR UPDATE
