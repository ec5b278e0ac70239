-- Forget starts of these gates, which are locked, that no longer count at this moment. Where the clock was set back, they
-- have happened by now at the latest. Nothing to forget is the rule, and costs little then.
CREATE OR REPLACE FUNCTION penstock.forget_starts(gates bigint[], us bigint) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    timed bigint[] := ARRAY (
        SELECT gate.gate FROM penstock.gate WHERE gate.gate = ANY (gates) AND gate.period IS NOT NULL
    );
BEGIN
    IF timed = '{}' THEN
        RETURN;
    END IF;
    UPDATE penstock.permit SET at = us WHERE permit.gate = ANY (timed) AND permit.at > us;
    WITH gone AS (
        DELETE FROM penstock.permit USING penstock.gate
        WHERE gate.gate = ANY (timed) AND permit.gate = gate.gate AND permit.at <= us - gate.period
        RETURNING permit.gate
    )
    UPDATE penstock.gate SET made = gate.made - old.starts
    FROM (SELECT gone.gate, count(*) AS starts FROM gone GROUP BY gone.gate) AS old
    WHERE gate.gate = old.gate;
END
$$;
