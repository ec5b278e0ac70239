-- Let the first in the line of this gate go on, if it is parked here and does not wait elsewhere, for its next attempt
-- perhaps.
CREATE OR REPLACE FUNCTION penstock.let_first_through(before bigint, line text) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    first uuid := penstock.first_in_line(line);
BEGIN
    IF first IS NULL THEN  -- Those who are parked here came before the gate was ordered.
        PERFORM penstock.line_up_parked(ARRAY[line]);
        first := penstock.first_in_line(line);
    END IF;
    WITH next AS (
        SELECT parked.id FROM penstock.parked
        WHERE parked.id = first AND parked.gate = before
        FOR UPDATE SKIP LOCKED
    ),
    opened AS (
        DELETE FROM penstock.parked WHERE parked.id IN (SELECT next.id FROM next)
        RETURNING parked.lane, parked.due_at, parked.id, parked.expires_at, parked.org
    )
    INSERT INTO penstock.waiting (lane, due_at, id, expires_at, org)
    SELECT opened.lane, opened.due_at, opened.id, opened.expires_at, nullif(opened.org, '') FROM opened;
END
$$;
