-- A new number for a key, or a new order. What the config says of numbers stays.
-- :gates is [[name, most, period, origin, ordered, declarer], …].
UPDATE penstock_gate
SET
    most = iif(given.fixed, penstock_gate.most, given.most),
    period = iif(given.fixed, penstock_gate.period, given.period),
    ordered = given.ordered,
    declarer = given.declarer,
    wake_at = :now
FROM (
    SELECT
        gate.value ->> 0 AS name, gate.value ->> 1 AS most, gate.value ->> 2 AS period, gate.value ->> 4 AS ordered,
        gate.value ->> 5 AS declarer,
        EXISTS (SELECT 1 FROM penstock_gate_limit AS fixed WHERE fixed.origin = gate.value ->> 3) AS fixed
    FROM json_each(:gates) AS gate
) AS given
WHERE penstock_gate.name = given.name
