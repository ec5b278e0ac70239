-- Make those of these gates that are missing, with the number that the config says, if it says one. They are [[name, most,
-- period, origin, ordered, declarer], …]; those of an older version end sooner.
CREATE OR REPLACE FUNCTION penstock.make_gates(given jsonb) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO penstock.gate (name, most, period, origin, ordered, declarer)
    SELECT DISTINCT ON (entry ->> 0)
        entry ->> 0,
        coalesce(fixed.most, (entry ->> 1)::bigint),
        CASE WHEN fixed.origin IS NULL THEN (entry ->> 2)::bigint ELSE fixed.period END,
        entry ->> 3,
        coalesce((entry ->> 4)::boolean, false),
        entry ->> 5
    FROM jsonb_array_elements(given) AS entry
    LEFT JOIN penstock.gate_limit AS fixed ON fixed.origin = entry ->> 3
    WHERE NOT EXISTS (SELECT 1 FROM penstock.gate WHERE gate.name = entry ->> 0)
    ORDER BY entry ->> 0
    ON CONFLICT (name) DO NOTHING
$$;
