-- The tenants of a queue take turns: a claim finds the first jobs of each. Only jobs of tenants are in the index. Their
-- names are compared as programs do, whatever the language of the database.
ALTER TABLE penstock.waiting ADD COLUMN org text COLLATE "C";
UPDATE penstock.waiting SET org = job.org FROM penstock.job WHERE job.id = waiting.id AND job.org IS NOT NULL;
CREATE INDEX waiting_org ON penstock.waiting (lane, org, due_at, id) WHERE org IS NOT NULL;

-- The tenants that have due jobs in these lanes, in order of their names: first those after one, then from the
-- beginning. Many may have jobs only for later: after so many looks, `upto` is where to go on another time.
CREATE FUNCTION penstock.waiting_tenants(
    lanes integer[], after text, most bigint, given bigint, OUT orgs text[], OUT upto text
)
LANGUAGE plpgsql
AS $$
DECLARE
    us bigint := penstock.moment(given);
    looks_left bigint := most + 500;
    wrapped boolean := false;
    here text COLLATE "C" := after;
    one record;
BEGIN
    orgs := '{}';
    LOOP
        SELECT first.org, first.due_at INTO one
        FROM unnest(lanes) AS route (lane)
        CROSS JOIN LATERAL (
            SELECT waiting.org, waiting.due_at FROM penstock.waiting
            WHERE waiting.lane = route.lane AND waiting.org > here
            ORDER BY waiting.org, waiting.due_at, waiting.id
            LIMIT 1
        ) AS first
        ORDER BY first.org, first.due_at
        LIMIT 1;
        IF one.org IS NULL AND NOT wrapped AND after > '' THEN
            wrapped := true;
            here := '';
            CONTINUE;
        END IF;
        EXIT WHEN one.org IS NULL OR (wrapped AND one.org > after COLLATE "C");
        here := one.org;
        IF one.due_at <= us THEN
            orgs := array_append(orgs, one.org);
        END IF;
        EXIT WHEN cardinality(orgs) >= most;
        looks_left := looks_left - 1;
        IF looks_left <= 0 THEN
            upto := here;
            EXIT;
        END IF;
    END LOOP;
END
$$;

-- The moment that decides once locks are held: one that was taken before may be older than what others did meanwhile.
CREATE FUNCTION penstock.moment_now(given bigint) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$ SELECT coalesce(given, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) $$;

DROP FUNCTION penstock.admit(bigint[], bigint, bigint);
-- Which of these leased jobs may begin, and the moment that counts. Before a full gate they are parked; over `free` they go back to wait.
CREATE FUNCTION penstock.admit(
    tokens bigint[], free bigint, given bigint, OUT passed bigint[], OUT back bigint[], OUT us bigint
)
LANGUAGE plpgsql
AS $$
DECLARE
    needed jsonb;
    names text[];
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
    SELECT jsonb_agg(entry), array_agg(DISTINCT entry ->> 0) INTO needed, names
    FROM penstock.lease JOIN penstock.job ON job.id = lease.id
    CROSS JOIN LATERAL jsonb_array_elements(job.gates::jsonb) AS entry
    WHERE lease.token = ANY (tokens);
    LOOP  -- One that was there may be forgotten by somebody else before it is locked: then it is made again.
        PERFORM penstock.make_gates(needed);
        numbers := ARRAY (
            SELECT gate.gate FROM penstock.gate WHERE gate.name = ANY (names) ORDER BY gate.gate FOR UPDATE
        );
        EXIT WHEN cardinality(numbers) = coalesce(cardinality(names), 0);
    END LOOP;
    us := penstock.moment_now(given);
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

-- Let the next of the parked jobs through where the moment has come: of each lane, since nobody may be there for some.
CREATE OR REPLACE FUNCTION penstock.open_gates(given bigint) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    us bigint := penstock.moment_now(given);
    most_at_once CONSTANT bigint := 1000;
    one record;
    free bigint;
BEGIN
    FOR one IN
        SELECT gate.gate, gate.period FROM penstock.gate WHERE gate.wake_at <= us
        ORDER BY gate.wake_at LIMIT 200 FOR UPDATE SKIP LOCKED
    LOOP
        us := penstock.moment_now(given);
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
            INSERT INTO penstock.waiting (lane, due_at, id, expires_at, org)
            SELECT opened.lane, opened.due_at, opened.id, opened.expires_at, job.org
            FROM opened JOIN penstock.job ON job.id = opened.id;
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
