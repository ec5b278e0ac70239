-- A new number for a key, or a new order, if the same declaration gave the old one. What the config says of numbers
-- stays. :gates is [[name, most, period, origin, ordered], …].
UPDATE penstock_gate
SET
    most = iif(given.fixed, penstock_gate.most, given.most),
    period = iif(given.fixed, penstock_gate.period, given.period),
    ordered = given.ordered,
    wake_at = :now
FROM (
    SELECT
        gate.value ->> 0 AS name, gate.value ->> 1 AS most, gate.value ->> 2 AS period, gate.value ->> 3 AS origin,
        gate.value ->> 4 AS ordered,
        EXISTS (SELECT 1 FROM penstock_limit AS fixed WHERE fixed.origin = gate.value ->> 3) AS fixed
    FROM json_each(:gates) AS gate
) AS given
WHERE penstock_gate.name = given.name AND penstock_gate.origin = given.origin
    AND (
        penstock_gate.ordered <> given.ordered
        OR (NOT given.fixed AND (penstock_gate.most, penstock_gate.period) IS NOT (given.most, given.period))
    )
