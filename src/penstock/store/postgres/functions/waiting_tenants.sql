-- The tenants that have due jobs in these lanes, in order of their names: first those after one, then from the
-- beginning. Many may have jobs only for later. If it did not look at all of them, `upto` is where to go on another time.
CREATE OR REPLACE FUNCTION penstock.waiting_tenants(
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
        looks_left := looks_left - 1;
        IF cardinality(orgs) >= most OR looks_left <= 0 THEN
            upto := here;
            EXIT;
        END IF;
    END LOOP;
END
$$;
