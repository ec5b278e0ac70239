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
