-- How many more may pass these gates, asked while they are locked.
CREATE OR REPLACE FUNCTION penstock.rooms(numbers bigint[])
RETURNS TABLE (gate bigint, name text, free bigint, ordered boolean)
LANGUAGE sql
AS $$
    SELECT
        gate.gate, gate.name,
        gate.most - CASE WHEN gate.period IS NULL THEN (
            SELECT count(*) FROM penstock.hold JOIN penstock.lease ON lease.token = hold.token
            WHERE hold.gate = gate.gate
        ) ELSE gate.made END,
        gate.ordered
    FROM penstock.gate
    WHERE gate.gate = ANY (numbers)
$$;
