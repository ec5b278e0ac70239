-- Starts under gates that were deleted by hand: nobody counts them. Looks at one row of each gate.
WITH RECURSIVE stood (gate) AS (
    SELECT min(gate) FROM penstock_permit
    UNION ALL
    SELECT (SELECT min(permit.gate) FROM penstock_permit AS permit WHERE permit.gate > stood.gate)
    FROM stood WHERE stood.gate IS NOT NULL
)
DELETE FROM penstock_permit
WHERE gate IN (SELECT stood.gate FROM stood WHERE stood.gate NOT IN (SELECT gate FROM penstock_gate))
