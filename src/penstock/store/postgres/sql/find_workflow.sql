SELECT state, compensate FROM penstock.workflow WHERE id = %(id)s::uuid FOR UPDATE
