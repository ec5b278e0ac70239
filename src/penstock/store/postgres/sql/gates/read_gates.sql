-- The gates by name, not locked: for whoever enqueues, who only guesses how many would pass.
SELECT
    gate.gate, gate.name, gate.most, gate.period, gate.origin, 0,
    EXISTS (SELECT 1 FROM penstock.parked WHERE parked.gate = gate.gate),
    EXISTS (SELECT 1 FROM penstock.gate_limit AS fixed WHERE fixed.origin = gate.origin),
    gate.ordered, gate.declarer
FROM penstock.gate
WHERE gate.name = ANY (%(names)s::text[])
