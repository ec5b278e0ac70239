UPDATE penstock_gate
SET wake_at = :now
WHERE name IN (SELECT value FROM json_each(:names))
    AND EXISTS (SELECT 1 FROM penstock_parked AS parked WHERE parked.gate = penstock_gate.gate)
