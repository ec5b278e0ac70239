-- Give jobs their places in line that were parked before their gate was ordered.
CREATE OR REPLACE FUNCTION penstock.line_up_parked(names text[]) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO penstock.ticket (name, due_at, id)
    SELECT gate.name, parked.due_at, parked.id
    FROM penstock.gate JOIN penstock.parked ON parked.gate = gate.gate
    WHERE gate.name = ANY (names) AND gate.ordered
    ORDER BY parked.due_at, parked.id
    ON CONFLICT (id) DO NOTHING
$$;
