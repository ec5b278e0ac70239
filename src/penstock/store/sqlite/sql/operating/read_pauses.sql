SELECT kind, name, since, actor, reason FROM penstock_pause ORDER BY kind, name
