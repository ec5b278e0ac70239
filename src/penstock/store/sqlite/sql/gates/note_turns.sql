-- :turns is [[gate, tenant], …].
UPDATE penstock_gate SET last_org = turn.value ->> 1
FROM json_each(:turns) AS turn
WHERE penstock_gate.gate = turn.value ->> 0
