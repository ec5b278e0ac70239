UPDATE penstock.page SET folded = true WHERE entry = any(%(entries)s::bigint[])
