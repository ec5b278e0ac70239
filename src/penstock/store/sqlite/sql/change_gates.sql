-- A new number for a key, if the same declaration gave the old one. :gates is [[name, most, period, origin], …].
UPDATE penstock_gate
SET most = gate.value ->> 1, period = gate.value ->> 2, wake_at = :now
FROM json_each(:gates) AS gate
WHERE penstock_gate.name = gate.value ->> 0 AND penstock_gate.origin = gate.value ->> 3
    AND (penstock_gate.most, penstock_gate.period) IS NOT (gate.value ->> 1, gate.value ->> 2)
    AND NOT EXISTS (SELECT 1 FROM penstock_limit AS fixed WHERE fixed.origin = penstock_gate.origin)
