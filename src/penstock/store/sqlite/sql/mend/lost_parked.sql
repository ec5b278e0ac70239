-- Jobs that are parked before a gate which does not exist, which nobody would ever open. Looks at one row of each gate.
WITH RECURSIVE stood (gate) AS (
    SELECT min(gate) FROM penstock_parked
    UNION ALL
    SELECT (SELECT min(parked.gate) FROM penstock_parked AS parked WHERE parked.gate > stood.gate)
    FROM stood WHERE stood.gate IS NOT NULL
)
SELECT json_group_array(lost.seq)
FROM (
    SELECT parked.seq
    FROM stood
    CROSS JOIN penstock_parked AS parked ON parked.gate = stood.gate
    WHERE NOT EXISTS (SELECT 1 FROM penstock_gate AS gate WHERE gate.gate = stood.gate)
    LIMIT :limit
) AS lost
