UPDATE penstock_gate
SET wake_at = :now
WHERE gate IN (SELECT value FROM json_each(:gates))
    AND EXISTS (SELECT 1 FROM penstock_parked AS parked WHERE parked.gate = penstock_gate.gate)
