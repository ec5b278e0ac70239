SELECT kind, name, since, actor, reason FROM penstock.pause ORDER BY kind COLLATE "C", name COLLATE "C"
