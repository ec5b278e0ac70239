-- What the config says, instead of what it said before.
WITH given AS (
    SELECT origin, most, period
    FROM unnest(%(origins)s::text[], %(numbers)s::bigint[], %(periods)s::bigint[]) AS row (origin, most, period)
),
gone AS (DELETE FROM penstock.gate_limit WHERE origin <> ALL (%(origins)s::text[])),
stored AS (
    INSERT INTO penstock.gate_limit (origin, most, period) SELECT origin, most, period FROM given
    ON CONFLICT (origin) DO UPDATE SET most = excluded.most, period = excluded.period
)
UPDATE penstock.gate
SET most = given.most, period = given.period, wake_at = penstock.moment(%(now)s::bigint)
FROM given
WHERE gate.origin = given.origin AND (gate.most, gate.period) IS DISTINCT FROM (given.most, given.period)
