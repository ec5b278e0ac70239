-- A new number for a key, or a new order. What the config says of numbers stays.
-- They are [[name, most, period, origin, ordered, declarer], …].
UPDATE penstock.gate
SET
    most = CASE WHEN given.fixed THEN gate.most ELSE given.most END,
    period = CASE WHEN given.fixed THEN gate.period ELSE given.period END,
    ordered = given.ordered,
    declarer = given.declarer,
    wake_at = penstock.moment(%(now)s::bigint)
FROM (
    SELECT
        entry ->> 0 AS name, (entry ->> 1)::bigint AS most, (entry ->> 2)::bigint AS period,
        (entry ->> 4)::boolean AS ordered, entry ->> 5 AS declarer,
        EXISTS (SELECT 1 FROM penstock.gate_limit AS fixed WHERE fixed.origin = entry ->> 3) AS fixed
    FROM jsonb_array_elements(%(gates)s::text::jsonb) AS entry
) AS given
WHERE gate.name = given.name
