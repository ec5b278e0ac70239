-- Ordered keys: jobs of such a gate pass one after the other, each when the one before it has ended for good.
ALTER TABLE penstock.gate ADD COLUMN ordered boolean NOT NULL DEFAULT false;

-- The places in line before ordered gates, by the due time of the enqueue, which retries do not change, then as they
-- were enqueued. By name, since gates are forgotten and made again, and are not locked in a transaction of the caller's.
-- A ticket of a job that has ended means nothing; it is removed when somebody looks who is first.
CREATE TABLE penstock.ticket (
    name text NOT NULL,
    due_at bigint NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    PRIMARY KEY (name, due_at, number)
);
ALTER TABLE penstock.ticket SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- The first in line that has not ended, asked while the gate is locked. Whoever stood before it is forgotten.
CREATE FUNCTION penstock.first_in_line(line text) RETURNS uuid
LANGUAGE plpgsql
AS $$
DECLARE
    head record;
BEGIN
    LOOP
        SELECT ticket.due_at, ticket.number, ticket.id INTO head FROM penstock.ticket
        WHERE ticket.name = line ORDER BY ticket.due_at, ticket.number LIMIT 1;
        EXIT WHEN NOT FOUND;
        EXIT WHEN EXISTS (SELECT 1 FROM penstock.job WHERE job.id = head.id)
            AND NOT EXISTS (SELECT 1 FROM penstock.outcome WHERE outcome.id = head.id);
        DELETE FROM penstock.ticket
        WHERE ticket.name = line AND ticket.due_at = head.due_at AND ticket.number = head.number;
    END LOOP;
    RETURN head.id;
END
$$;

-- Jobs that were parked before their gate was ordered get their places.
CREATE FUNCTION penstock.line_up_parked(names text[]) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO penstock.ticket (name, due_at, id)
    SELECT gate.name, parked.due_at, parked.id
    FROM penstock.gate JOIN penstock.parked ON parked.gate = gate.gate
    WHERE gate.name = ANY (names) AND gate.ordered
    ORDER BY parked.due_at, parked.id
    ON CONFLICT (id) DO NOTHING
$$;

-- What follows is as before, but for the order, and for locks that whoever enqueues and keeps a gate from being
-- forgotten (FOR KEY SHARE) does not wait for, nor they for him.

-- The gates are [[name, most, period, origin, ordered], …]; those of an older version have no last entry.
CREATE OR REPLACE FUNCTION penstock.make_gates(given jsonb) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO penstock.gate (name, most, period, origin, ordered)
    SELECT DISTINCT ON (entry ->> 0)
        entry ->> 0,
        coalesce(fixed.most, (entry ->> 1)::bigint),
        CASE WHEN fixed.origin IS NULL THEN (entry ->> 2)::bigint ELSE fixed.period END,
        entry ->> 3,
        coalesce((entry ->> 4)::boolean, false)
    FROM jsonb_array_elements(given) AS entry
    LEFT JOIN penstock.gate_limit AS fixed ON fixed.origin = entry ->> 3
    WHERE NOT EXISTS (SELECT 1 FROM penstock.gate WHERE gate.name = entry ->> 0)
    ORDER BY entry ->> 0
    ON CONFLICT (name) DO NOTHING
$$;

-- How many more may pass these gates, asked while they are locked.
CREATE FUNCTION penstock.rooms(numbers bigint[])
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
DROP FUNCTION penstock.room(bigint);

-- Nothing to forget is the rule, and costs little then.
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

-- The moment that decides once locks are held: one that was taken before may be older than what others did meanwhile.
CREATE FUNCTION penstock.moment_now(given bigint) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$ SELECT coalesce(given, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) $$;

-- Which of these leased jobs may begin, and the moment that counts. Before a full gate they are parked; over `free` they
-- go back to wait.
DROP FUNCTION penstock.admit(bigint[], bigint, bigint);
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

-- Let the next of the parked jobs through where the moment has come: of each lane, since nobody may be there for some.
-- Where tenants wait, in turn, one of each.
CREATE OR REPLACE FUNCTION penstock.open_gates(given bigint) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    us bigint := penstock.moment_now(given);
    most_at_once CONSTANT bigint := 1000;
    woken bigint[];
    numbers bigint[] := '{}';
    frees bigint[] := '{}';
    shared bigint[];
    orgs text[];
    turns bigint := 0;
    one record;
BEGIN
    woken := ARRAY (
        SELECT gate.gate FROM penstock.gate WHERE gate.wake_at <= us
        ORDER BY gate.wake_at LIMIT 200 FOR NO KEY UPDATE SKIP LOCKED
    );
    us := penstock.moment_now(given);
    PERFORM penstock.forget_starts(woken, us);
    FOR one IN SELECT row.gate, row.name, row.free, row.ordered FROM penstock.rooms(woken) AS row WHERE row.free > 0 LOOP
        IF one.ordered THEN
            PERFORM penstock.let_first_through(one.gate, one.name);
        ELSE
            numbers := numbers || one.gate;
            frees := frees || one.free;
        END IF;
    END LOOP;
    LOOP
        WITH RECURSIVE room AS MATERIALIZED (
            SELECT row.gate, gate.last_org, least(row.free, most_at_once) - turns AS free
            FROM unnest(numbers, frees) AS row (gate, free)
            CROSS JOIN LATERAL (SELECT last_org FROM penstock.gate WHERE gate.gate = row.gate LIMIT 1) AS gate
            WHERE row.free > turns AND (turns = 0 OR row.gate = ANY (shared))
        ),
        lanes AS (
            SELECT
                room.gate, room.last_org, room.free,
                (SELECT min(parked.lane) FROM penstock.parked WHERE parked.gate = room.gate) AS lane
            FROM room
            UNION ALL
            SELECT lanes.gate, lanes.last_org, lanes.free, (
                SELECT min(parked.lane) FROM penstock.parked
                WHERE parked.gate = lanes.gate AND parked.lane > lanes.lane
            )
            FROM lanes WHERE lanes.lane IS NOT NULL
        ),
        asked AS MATERIALIZED (
            SELECT
                lanes.gate, lanes.lane, lanes.last_org, lanes.free,
                (SELECT parked.org FROM penstock.parked WHERE parked.gate = lanes.gate AND parked.lane = lanes.lane
                ORDER BY parked.org LIMIT 1) AS first,
                (SELECT parked.org FROM penstock.parked WHERE parked.gate = lanes.gate AND parked.lane = lanes.lane
                ORDER BY parked.org DESC LIMIT 1) AS last
            FROM lanes
            WHERE lanes.lane IS NOT NULL
        ),
        next AS MATERIALIZED (
            SELECT asked.gate, row.at, row.org, asked.first < asked.last AS is_shared
            FROM asked
            CROSS JOIN LATERAL (
                SELECT parked.ctid AS at, parked.org FROM penstock.parked
                WHERE parked.gate = asked.gate AND parked.lane = asked.lane
                    AND parked.org = CASE WHEN asked.first = asked.last THEN asked.first ELSE coalesce(
                        (SELECT other.org FROM penstock.parked AS other
                        WHERE other.gate = asked.gate AND other.lane = asked.lane AND other.org > asked.last_org
                        ORDER BY other.org LIMIT 1),
                        asked.first
                    ) END
                ORDER BY parked.due_at, parked.id
                LIMIT CASE WHEN asked.first = asked.last THEN asked.free ELSE 1 END
                FOR UPDATE SKIP LOCKED  -- Whoever ends one that waits here comes for this gate next.
            ) AS row
        ),
        opened AS (
            DELETE FROM penstock.parked WHERE parked.ctid = ANY (ARRAY (SELECT next.at FROM next))
            RETURNING parked.lane, parked.due_at, parked.id, parked.expires_at, parked.org
        ),
        ready AS (
            INSERT INTO penstock.waiting (lane, due_at, id, expires_at, org)
            SELECT opened.lane, opened.due_at, opened.id, opened.expires_at, nullif(opened.org, '') FROM opened
        )
        SELECT array_agg(next.gate), array_agg(next.org) INTO shared, orgs FROM next WHERE next.is_shared;
        EXIT WHEN shared IS NULL;
        UPDATE penstock.gate SET last_org = turn.org
        FROM unnest(shared, orgs) AS turn (gate, org)
        WHERE gate.gate = ANY (shared) AND gate.gate = turn.gate;
        turns := turns + 1;
        EXIT WHEN turns >= most_at_once;
    END LOOP;
    UPDATE penstock.gate
    SET wake_at = CASE WHEN EXISTS (SELECT 1 FROM penstock.parked WHERE parked.gate = gate.gate) THEN (
        CASE WHEN most_at_once < ANY (frees) AND gate.gate = ANY (
            ARRAY (SELECT row.gate FROM unnest(numbers, frees) AS row (gate, free) WHERE row.free > most_at_once)
        ) THEN us
        ELSE (SELECT min(permit.at) + gate.period FROM penstock.permit WHERE permit.gate = gate.gate) END
    ) END
    WHERE gate.gate = ANY (woken);
END
$$;

-- The first in line, if it is parked here and does not wait elsewhere, for its next attempt perhaps.
CREATE FUNCTION penstock.let_first_through(before bigint, line text) RETURNS void
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
