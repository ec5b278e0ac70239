-- A new number for a key, if the same declaration gave the old one. They are [[name, most, period, origin], …].
UPDATE penstock.gate
SET most = (entry ->> 1)::bigint, period = (entry ->> 2)::bigint, wake_at = penstock.moment(%(now)s::bigint)
FROM jsonb_array_elements(%(gates)s::text::jsonb) AS entry
WHERE gate.name = entry ->> 0 AND gate.origin = entry ->> 3
    AND (gate.most, gate.period) IS DISTINCT FROM ((entry ->> 1)::bigint, (entry ->> 2)::bigint)
    AND NOT EXISTS (SELECT 1 FROM penstock.gate_limit AS fixed WHERE fixed.origin = gate.origin)
