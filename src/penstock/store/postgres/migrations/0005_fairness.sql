-- The tenants of a queue take turns: a claim finds the first jobs of each. Only jobs of tenants are in the index. Their
-- names are compared as programs do, whatever the language of the database.
ALTER TABLE penstock.waiting ADD COLUMN org text COLLATE "C";
UPDATE penstock.waiting SET org = job.org FROM penstock.job WHERE job.id = waiting.id AND job.org IS NOT NULL;
CREATE INDEX waiting_org ON penstock.waiting (lane, org, due_at, id) WHERE org IS NOT NULL;

-- Before a gate they take turns too: `last_org` is who was let through last. Jobs without a tenant are one of them.
ALTER TABLE penstock.gate ADD COLUMN last_org text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE penstock.parked ADD COLUMN org text COLLATE "C" NOT NULL DEFAULT '';
UPDATE penstock.parked SET org = job.org FROM penstock.job WHERE job.id = parked.id AND job.org IS NOT NULL;
ALTER TABLE penstock.parked DROP CONSTRAINT parked_pkey;
ALTER TABLE penstock.parked ADD PRIMARY KEY (gate, lane, org, due_at, id);

-- The tenants that have due jobs in these lanes, in order of their names: first those after one, then from the
-- beginning. Many may have jobs only for later. If it did not look at all of them, `upto` is where to go on another time.
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
        looks_left := looks_left - 1;
        IF cardinality(orgs) >= most OR looks_left <= 0 THEN
            upto := here;
            EXIT;
        END IF;
    END LOOP;
END
$$;
