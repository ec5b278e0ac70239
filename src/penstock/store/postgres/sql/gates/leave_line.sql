-- Jobs that ended while they waited: those behind them are next.
WITH gone AS (DELETE FROM penstock.ticket WHERE id = ANY (%(ids)s::uuid[]) RETURNING name),
locked AS MATERIALIZED (
    SELECT gate FROM penstock.gate WHERE name = ANY (ARRAY (SELECT name FROM gone)) ORDER BY gate FOR NO KEY UPDATE
),
woken AS (
    UPDATE penstock.gate SET wake_at = penstock.moment(%(now)s::bigint) FROM locked WHERE gate.gate = locked.gate
    RETURNING gate.gate
)
SELECT (
    SELECT pg_notify(%(channel)s::text, '') WHERE %(channel)s::text IS NOT NULL AND EXISTS (SELECT 1 FROM woken)
)::text
