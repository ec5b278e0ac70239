SELECT step FROM penstock.step WHERE workflow = %(id)s::uuid AND NOT begun AND pending = 0
