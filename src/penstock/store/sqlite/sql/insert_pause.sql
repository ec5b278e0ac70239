INSERT INTO penstock_pause (kind, name, since, actor, reason) VALUES (:kind, :name, :now, :actor, :reason)
ON CONFLICT DO NOTHING
