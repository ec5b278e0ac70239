-- Attempts have ended: what they held is free. A start that was given back before it began does not count.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
released AS (DELETE FROM penstock.hold WHERE token = ANY (%(tokens)s::bigint[]) RETURNING gate, token, at),
locked AS MATERIALIZED (
    SELECT gate FROM penstock.gate WHERE gate = ANY (ARRAY (SELECT gate FROM released)) ORDER BY gate FOR NO KEY UPDATE
),
unstarted AS (
    DELETE FROM penstock.permit USING released
    WHERE permit.gate = released.gate AND permit.at = released.at AND permit.token = released.token
        AND released.token = ANY (%(unused)s::bigint[])
    RETURNING permit.gate
),
woken AS (
    UPDATE penstock.gate
    SET wake_at = moment.us, made = gate.made - (SELECT count(*) FROM unstarted WHERE unstarted.gate = gate.gate)
    FROM moment
    WHERE gate.gate = ANY (ARRAY (SELECT gate FROM locked))
    RETURNING gate.gate
)
SELECT (
    SELECT pg_notify(%(channel)s::text, '') WHERE %(channel)s::text IS NOT NULL AND EXISTS (SELECT 1 FROM woken)
)::text
