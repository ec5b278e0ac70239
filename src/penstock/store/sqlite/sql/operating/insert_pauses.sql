INSERT INTO penstock_pause (kind, name, since, actor, reason)
SELECT :kind, value, :now, :actor, :reason FROM json_each(:names) WHERE true
ON CONFLICT DO NOTHING
RETURNING name
