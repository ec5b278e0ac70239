-- Limits. A gate lets at most so many jobs through: at once, or in any span of its period (microseconds). `name` is a
-- filled key, `origin` the key as it was declared, `made` how many permits of it are kept. `wake_at` is when somebody
-- should look whether the next of those that are parked before it may pass.
CREATE TABLE penstock.gate (
    gate bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    most bigint NOT NULL,
    period bigint,
    origin text NOT NULL,
    made bigint NOT NULL DEFAULT 0,
    wake_at bigint
);
CREATE INDEX gate_wake ON penstock.gate (wake_at) WHERE wake_at IS NOT NULL;

-- What the config says of a key wins over the code.
CREATE TABLE penstock.gate_limit (
    origin text PRIMARY KEY,
    most bigint NOT NULL,
    period bigint
);

-- Who has passed a gate. Only those whose lease still exists count, so none can be held by nobody.
CREATE TABLE penstock.hold (
    gate bigint NOT NULL,
    token bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (gate, token)
);
CREATE INDEX hold_token ON penstock.hold (token);

-- The starts of a gate with a period, as long as they count.
CREATE TABLE penstock.permit (
    gate bigint NOT NULL,
    at bigint NOT NULL,
    token bigint NOT NULL,
    PRIMARY KEY (gate, at, token)
);

-- Due jobs that wait before a gate which was full, away from those that a claim looks at.
CREATE TABLE penstock.parked (
    gate bigint NOT NULL,
    lane integer NOT NULL,
    due_at bigint NOT NULL,
    id uuid NOT NULL UNIQUE,
    expires_at bigint,
    PRIMARY KEY (gate, lane, due_at, id)
);
CREATE INDEX parked_expires ON penstock.parked (expires_at) WHERE expires_at IS NOT NULL;

-- The gates of a job: [[name, most, period, origin], …].
ALTER TABLE penstock.job ADD COLUMN gates text;

ALTER TABLE penstock.gate SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE penstock.hold SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE penstock.permit SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE penstock.parked SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- When a job that has never been tried expires.
CREATE FUNCTION penstock.expiry(attempt integer, due_at bigint, policy text) RETURNS bigint
LANGUAGE sql IMMUTABLE
AS $$ SELECT CASE WHEN attempt = 0 THEN due_at + ((policy::jsonb ->> 'l')::float8 * 1000000)::bigint END $$;

-- Make those of the gates that are missing: [[name, most, period, origin], …].
CREATE FUNCTION penstock.make_gates(given jsonb) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO penstock.gate (name, most, period, origin)
    SELECT DISTINCT ON (entry ->> 0)
        entry ->> 0,
        coalesce(fixed.most, (entry ->> 1)::bigint),
        CASE WHEN fixed.origin IS NULL THEN (entry ->> 2)::bigint ELSE fixed.period END,
        entry ->> 3
    FROM jsonb_array_elements(given) AS entry
    LEFT JOIN penstock.gate_limit AS fixed ON fixed.origin = entry ->> 3
    WHERE NOT EXISTS (SELECT 1 FROM penstock.gate WHERE gate.name = entry ->> 0)
    ORDER BY entry ->> 0
    ON CONFLICT (name) DO NOTHING
$$;

-- Forget starts that no longer count. Where the clock was set back, they have happened by now at the latest.
CREATE FUNCTION penstock.forget_starts(gates bigint[], us bigint) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE penstock.permit SET at = us WHERE permit.gate = ANY (gates) AND permit.at > us;
    WITH gone AS (
        DELETE FROM penstock.permit USING penstock.gate
        WHERE gate.gate = ANY (gates) AND permit.gate = gate.gate AND permit.at <= us - gate.period
        RETURNING permit.gate
    )
    UPDATE penstock.gate SET made = gate.made - old.starts
    FROM (SELECT gone.gate, count(*) AS starts FROM gone GROUP BY gone.gate) AS old
    WHERE gate.gate = old.gate;
END
$$;

-- How many more may pass a gate, asked while it is locked.
CREATE FUNCTION penstock.room(of_gate bigint) RETURNS bigint
LANGUAGE plpgsql
AS $$
BEGIN
    RETURN (
        SELECT gate.most - CASE WHEN gate.period IS NULL THEN (
            SELECT count(*) FROM penstock.hold JOIN penstock.lease ON lease.token = hold.token
            WHERE hold.gate = gate.gate
        ) ELSE gate.made END
        FROM penstock.gate
        WHERE gate.gate = of_gate
    );
END
$$;

-- Which of these leased jobs may begin. Before a full gate they are parked; over `free` they go back to wait.
CREATE FUNCTION penstock.admit(tokens bigint[], free bigint, given bigint, OUT passed bigint[], OUT back bigint[])
LANGUAGE plpgsql
AS $$
DECLARE
    us bigint := penstock.moment(given);
    numbers bigint[];
    rooms bigint[];
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
    PERFORM penstock.make_gates((
        SELECT jsonb_agg(entry)
        FROM penstock.lease JOIN penstock.job ON job.id = lease.id
        CROSS JOIN LATERAL jsonb_array_elements(job.gates::jsonb) AS entry
        WHERE lease.token = ANY (tokens)
    ));
    numbers := ARRAY (
        SELECT gate.gate FROM penstock.gate
        WHERE gate.name IN (
            SELECT entry ->> 0
            FROM penstock.lease JOIN penstock.job ON job.id = lease.id
            CROSS JOIN LATERAL jsonb_array_elements(job.gates::jsonb) AS entry
            WHERE lease.token = ANY (tokens)
        )
        ORDER BY gate.gate
        FOR UPDATE
    );
    PERFORM penstock.forget_starts(numbers, us);
    rooms := ARRAY (SELECT penstock.room(number) FROM unnest(numbers) WITH ORDINALITY AS row (number, nth) ORDER BY nth);
    FOR one IN
        SELECT row.token, array_agg(array_position(numbers, gate.gate) ORDER BY gate.gate) AS gates
        FROM unnest(tokens) WITH ORDINALITY AS row (token, nth)
        JOIN penstock.lease ON lease.token = row.token
        JOIN penstock.job ON job.id = lease.id
        CROSS JOIN LATERAL jsonb_array_elements(job.gates::jsonb) AS entry
        JOIN penstock.gate ON gate.name = entry ->> 0
        GROUP BY row.token, row.nth
        ORDER BY row.nth
    LOOP
        closed := NULL;
        FOREACH here IN ARRAY one.gates LOOP
            IF rooms[here] <= 0 THEN
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
        INSERT INTO penstock.parked (gate, lane, due_at, id, expires_at)
        SELECT row.gate, job.lane, job.due_at, job.id, penstock.expiry(job.attempt, job.due_at, job.policy)
        FROM unnest(away_gates, away_tokens) AS row (gate, token)
        JOIN gone ON gone.token = row.token
        JOIN penstock.job ON job.id = gone.id
    )
    INSERT INTO penstock.waiting (lane, due_at, id, expires_at)
    SELECT job.lane, job.due_at, job.id, penstock.expiry(job.attempt, job.due_at, job.policy)
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

-- Let the next of the parked jobs through where the moment has come: of each lane, since nobody may be there for some.
CREATE FUNCTION penstock.open_gates(given bigint) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    us bigint := penstock.moment(given);
    most_at_once CONSTANT bigint := 1000;
    one record;
    free bigint;
BEGIN
    FOR one IN
        SELECT gate.gate, gate.period FROM penstock.gate WHERE gate.wake_at <= us
        ORDER BY gate.wake_at LIMIT 200 FOR UPDATE SKIP LOCKED
    LOOP
        IF one.period IS NOT NULL THEN
            PERFORM penstock.forget_starts(ARRAY[one.gate], us);
        END IF;
        free := penstock.room(one.gate);
        IF free > 0 THEN
            WITH RECURSIVE lanes AS (
                SELECT min(parked.lane) AS lane FROM penstock.parked WHERE parked.gate = one.gate
                UNION ALL
                SELECT (
                    SELECT min(parked.lane) FROM penstock.parked
                    WHERE parked.gate = one.gate AND parked.lane > lanes.lane
                )
                FROM lanes WHERE lanes.lane IS NOT NULL
            ),
            next AS (
                SELECT row.id
                FROM lanes
                CROSS JOIN LATERAL (
                    SELECT parked.id FROM penstock.parked
                    WHERE parked.gate = one.gate AND parked.lane = lanes.lane
                    ORDER BY parked.due_at, parked.id
                    LIMIT least(free, most_at_once)
                ) AS row
            ),
            opened AS (
                DELETE FROM penstock.parked WHERE parked.id IN (SELECT next.id FROM next)
                RETURNING parked.lane, parked.due_at, parked.id, parked.expires_at
            )
            INSERT INTO penstock.waiting (lane, due_at, id, expires_at)
            SELECT opened.lane, opened.due_at, opened.id, opened.expires_at FROM opened;
        END IF;
        UPDATE penstock.gate
        SET wake_at = CASE WHEN EXISTS (SELECT 1 FROM penstock.parked WHERE parked.gate = gate.gate) THEN (
            CASE WHEN free > most_at_once THEN us
            ELSE (SELECT min(permit.at) + gate.period FROM penstock.permit WHERE permit.gate = gate.gate) END
        ) END
        WHERE gate.gate = one.gate;
    END LOOP;
END
$$;
