-- How many more may pass each gate. Starts that no longer count were forgotten before.
SELECT
    gate.gate, gate.name, gate.most, gate.period, gate.origin,
    gate.most - iif(
        gate.period IS NULL,
        (SELECT count(*) FROM penstock_hold AS hold JOIN penstock_lease USING (token) WHERE hold.gate = gate.gate),
        gate.made
    ),
    EXISTS (SELECT 1 FROM penstock_parked AS parked WHERE parked.gate = gate.gate),
    EXISTS (SELECT 1 FROM penstock_gate_limit AS fixed WHERE fixed.origin = gate.origin),
    gate.ordered, gate.declarer
FROM json_each(:names) AS given
JOIN penstock_gate AS gate ON gate.name = given.value
