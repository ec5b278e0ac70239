-- :gates is [[name, most, period, origin, ordered, declarer], …]; those that were stored by an older version end sooner.
-- None gets a number under which something is kept: of a gate that was deleted by hand, whose jobs would wait before this
-- one. No number is beyond what can be counted on from, whatever somebody has written.
INSERT INTO penstock_gate (gate, name, most, period, origin, ordered, declarer)
SELECT
    gate.key + 1 + max(
        (SELECT coalesce(max(gate), 0) FROM penstock_gate WHERE gate < 4611686018427387904),
        (SELECT coalesce(max(gate), 0) FROM penstock_parked WHERE gate < 4611686018427387904),
        (SELECT coalesce(max(gate), 0) FROM penstock_permit WHERE gate < 4611686018427387904),
        (SELECT coalesce(max(gate), 0) FROM penstock_hold WHERE gate < 4611686018427387904)
    ),
    gate.value ->> 0,
    coalesce(fixed.most, gate.value ->> 1),
    iif(fixed.origin IS NULL, gate.value ->> 2, fixed.period),
    gate.value ->> 3,
    coalesce(gate.value ->> 4, 0),
    gate.value ->> 5
FROM json_each(:gates) AS gate
LEFT JOIN penstock_gate_limit AS fixed ON fixed.origin = gate.value ->> 3
WHERE NOT EXISTS (SELECT 1 FROM penstock_gate AS made WHERE made.name = gate.value ->> 0)
ON CONFLICT (name) DO NOTHING
