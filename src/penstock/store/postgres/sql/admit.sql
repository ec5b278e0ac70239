SELECT passed, back, us FROM penstock.admit(%(tokens)s::bigint[], %(free)s::bigint, %(now)s::bigint)
