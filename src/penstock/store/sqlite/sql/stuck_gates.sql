-- Gates with room before which jobs are parked, and that nobody looks at: what had passed them went another way.
SELECT json_group_array(gate.gate)
FROM penstock_gate AS gate
WHERE gate.wake_at IS NULL
    AND EXISTS (SELECT 1 FROM penstock_parked AS parked WHERE parked.gate = gate.gate)
    AND gate.most > (
        SELECT count(*) FROM penstock_hold AS hold JOIN penstock_lease USING (token) WHERE hold.gate = gate.gate
    )
