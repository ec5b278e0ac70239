-- :turns is [[gate, tenant], …].
UPDATE penstock_gate SET last_tenant = turn.value ->> 1
FROM json_each(:turns) AS turn
WHERE penstock_gate.gate = turn.value ->> 0
