SELECT id, spec, state, result FROM penstock_member WHERE workflow = :workflow AND step = :step ORDER BY place
