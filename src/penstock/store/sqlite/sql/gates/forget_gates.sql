-- Gates that nobody needs: they are made again from the jobs that name them.
DELETE FROM penstock_gate
WHERE gate IN (
    SELECT gate.gate
    FROM penstock_gate AS gate
    WHERE NOT EXISTS (SELECT 1 FROM penstock_parked AS parked WHERE parked.gate = gate.gate)
        AND NOT EXISTS (SELECT 1 FROM penstock_hold AS hold WHERE hold.gate = gate.gate)
        AND NOT EXISTS (
            SELECT 1 FROM penstock_permit AS permit
            WHERE permit.gate = gate.gate AND permit.at > :now - gate.period
        )
    LIMIT :limit
)
RETURNING gate, name
