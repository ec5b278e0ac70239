-- oldest: 8
-- Which type stands for the number of a gate: '' if it was given with one enqueue, NULL if nobody knows.
ALTER TABLE penstock.gate ADD COLUMN declarer text;
-- Which jobs name a gate. A job's own limits come first, at most one at once and one rate.
CREATE INDEX job_gate ON penstock.job ((gates::jsonb -> 0 ->> 0), id) WHERE gates IS NOT NULL;
CREATE INDEX job_other_gate ON penstock.job ((gates::jsonb -> 1 ->> 0), id)
WHERE gates IS NOT NULL AND gates::jsonb -> 1 ->> 0 IS NOT NULL;

-- The gates are [[name, most, period, origin, ordered, declarer], …]; those of an older version end sooner.
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
