UPDATE penstock_gate
SET most = fixed.most, period = fixed.period, wake_at = :now
FROM penstock_gate_limit AS fixed
WHERE penstock_gate.origin = fixed.origin
    AND (penstock_gate.most, penstock_gate.period) IS NOT (fixed.most, fixed.period)
