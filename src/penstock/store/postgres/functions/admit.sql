-- Which of these leased jobs may begin, and the moment that counts. Before a full gate, or behind others in its line, they
-- are parked; over `free` they go back to wait. Gates are locked in the order of their numbers.
CREATE OR REPLACE FUNCTION penstock.admit(
    tokens bigint[], free bigint, given bigint, OUT passed bigint[], OUT back bigint[], OUT us bigint
)
LANGUAGE plpgsql
AS $$
DECLARE
    needed jsonb;
    names text[];
    numbers bigint[];
    rooms bigint[];
    ordered boolean[];
    first uuid[];
    one record;
    here integer;
    closed integer;
    held_gates bigint[] := '{}';
    held_tokens bigint[] := '{}';
    away_gates bigint[] := '{}';
    away_tokens bigint[] := '{}';
BEGIN
    passed := '{}';
    back := '{}';
    SELECT jsonb_agg(entry), array_agg(DISTINCT entry ->> 0) INTO needed, names
    FROM penstock.lease JOIN penstock.job ON job.id = lease.id
    CROSS JOIN LATERAL jsonb_array_elements(job.gates::jsonb) AS entry
    WHERE lease.token = ANY (tokens);
    LOOP  -- One that was there may be forgotten by somebody else before it is locked: then it is made again.
        PERFORM penstock.make_gates(needed);
        SELECT coalesce(array_agg(locked.gate ORDER BY locked.gate), '{}'), array_agg(locked.ordered ORDER BY locked.gate)
        INTO numbers, ordered
        FROM (
            SELECT gate.gate, gate.ordered FROM penstock.gate WHERE gate.name = ANY (names)
            ORDER BY gate.gate FOR NO KEY UPDATE
        ) AS locked;
        EXIT WHEN cardinality(numbers) = coalesce(cardinality(names), 0);
    END LOOP;
    us := penstock.moment_now(given);
    PERFORM penstock.forget_starts(numbers, us);
    rooms := ARRAY (SELECT row.free FROM penstock.rooms(numbers) AS row ORDER BY row.gate);
    IF true = ANY (ordered) THEN
        INSERT INTO penstock.ticket (name, due_at, id)
        SELECT gate.name, job.due_at, job.id
        FROM penstock.lease
        JOIN penstock.job ON job.id = lease.id
        CROSS JOIN LATERAL jsonb_array_elements(job.gates::jsonb) AS entry
        JOIN penstock.gate ON gate.name = entry ->> 0 AND gate.ordered
        WHERE lease.token = ANY (tokens)
        ORDER BY job.due_at, job.id
        ON CONFLICT (id) DO NOTHING;
        first := ARRAY (
            SELECT CASE WHEN gate.ordered THEN penstock.first_in_line(gate.name) END
            FROM penstock.gate WHERE gate.gate = ANY (numbers) ORDER BY gate.gate
        );
    END IF;
    FOR one IN
        SELECT row.token, lease.id, array_agg(array_position(numbers, gate.gate) ORDER BY gate.gate) AS gates
        FROM unnest(tokens) WITH ORDINALITY AS row (token, nth)
        JOIN penstock.lease ON lease.token = row.token
        JOIN penstock.job ON job.id = lease.id
        CROSS JOIN LATERAL jsonb_array_elements(job.gates::jsonb) AS entry
        JOIN penstock.gate ON gate.name = entry ->> 0
        GROUP BY row.token, lease.id, row.nth
        ORDER BY row.nth
    LOOP
        closed := NULL;
        FOREACH here IN ARRAY one.gates LOOP
            IF rooms[here] <= 0 OR (ordered[here] AND first[here] IS DISTINCT FROM one.id) THEN
                closed := here;
                EXIT;
            END IF;
        END LOOP;
        IF closed IS NOT NULL THEN
            away_gates := away_gates || numbers[closed];
            away_tokens := away_tokens || one.token;
        ELSIF cardinality(passed) >= free THEN
            back := back || one.token;
        ELSE
            passed := passed || one.token;
            FOREACH here IN ARRAY one.gates LOOP
                rooms[here] := rooms[here] - 1;
                held_gates := held_gates || numbers[here];
                held_tokens := held_tokens || one.token;
            END LOOP;
        END IF;
    END LOOP;
    INSERT INTO penstock.hold (gate, token, at)
    SELECT row.gate, row.token, us FROM unnest(held_gates, held_tokens) AS row (gate, token);
    INSERT INTO penstock.permit (gate, at, token)
    SELECT row.gate, us, row.token
    FROM unnest(held_gates, held_tokens) AS row (gate, token)
    JOIN penstock.gate ON gate.gate = row.gate AND gate.period IS NOT NULL;
    WITH gone AS (DELETE FROM penstock.lease WHERE lease.token = ANY (away_tokens || back) RETURNING lease.token, lease.id),
    parked AS (
        INSERT INTO penstock.parked (gate, lane, due_at, id, expires_at, org)
        SELECT
            row.gate, job.lane, job.due_at, job.id, penstock.expiry(job.attempt, job.due_at, job.policy),
            coalesce(job.org, '')
        FROM unnest(away_gates, away_tokens) AS row (gate, token)
        JOIN gone ON gone.token = row.token
        JOIN penstock.job ON job.id = gone.id
    )
    INSERT INTO penstock.waiting (lane, due_at, id, expires_at, org)
    SELECT job.lane, job.due_at, job.id, penstock.expiry(job.attempt, job.due_at, job.policy), job.org
    FROM gone JOIN penstock.job ON job.id = gone.id
    WHERE gone.token = ANY (back);
    UPDATE penstock.gate
    SET
        made = gate.made + (SELECT count(*) FROM unnest(held_gates) AS held WHERE held = gate.gate),
        wake_at = CASE
            WHEN NOT EXISTS (SELECT 1 FROM penstock.parked WHERE parked.gate = gate.gate) THEN NULL
            WHEN rooms[array_position(numbers, gate.gate)] > 0 THEN us
            ELSE (SELECT min(permit.at) + gate.period FROM penstock.permit WHERE permit.gate = gate.gate)
        END
    WHERE gate.gate = ANY (numbers) AND gate.period IS NOT NULL;
END
$$;
