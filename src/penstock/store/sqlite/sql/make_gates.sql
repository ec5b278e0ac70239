-- :gates is [[name, most, period, origin, ordered, declarer], …]; those that were stored by an older version end sooner.
INSERT INTO penstock_gate (name, most, period, origin, ordered, declarer)
SELECT
    gate.value ->> 0,
    coalesce(fixed.most, gate.value ->> 1),
    iif(fixed.origin IS NULL, gate.value ->> 2, fixed.period),
    gate.value ->> 3,
    coalesce(gate.value ->> 4, 0),
    gate.value ->> 5
FROM json_each(:gates) AS gate
LEFT JOIN penstock_limit AS fixed ON fixed.origin = gate.value ->> 3
WHERE true
ON CONFLICT (name) DO NOTHING
