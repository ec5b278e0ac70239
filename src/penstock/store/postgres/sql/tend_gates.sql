-- Gates with room before which jobs are parked and that nobody looks at, and those that a clock which was set back keeps
-- closed for longer than their period. What nobody needs is forgotten: it is made again from the jobs that name it.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
leaked AS (DELETE FROM penstock.hold WHERE NOT EXISTS (SELECT 1 FROM penstock.lease WHERE lease.token = hold.token)),
stuck AS MATERIALIZED (
    SELECT gate.gate FROM penstock.gate CROSS JOIN moment
    WHERE gate.wake_at > moment.us + gate.period
        OR (
            gate.wake_at IS NULL
            AND EXISTS (SELECT 1 FROM penstock.parked WHERE parked.gate = gate.gate)
            AND gate.most > (
                SELECT count(*) FROM penstock.hold JOIN penstock.lease ON lease.token = hold.token
                WHERE hold.gate = gate.gate
            )
        )
    ORDER BY gate.gate
    FOR UPDATE OF gate SKIP LOCKED
),
woken AS (
    UPDATE penstock.gate SET wake_at = moment.us FROM stuck CROSS JOIN moment WHERE gate.gate = stuck.gate
    RETURNING gate.gate
),
idle AS MATERIALIZED (
    SELECT gate.gate FROM penstock.gate CROSS JOIN moment
    WHERE NOT EXISTS (SELECT 1 FROM penstock.parked WHERE parked.gate = gate.gate)
        AND NOT EXISTS (SELECT 1 FROM penstock.hold WHERE hold.gate = gate.gate)
        AND NOT EXISTS (SELECT 1 FROM penstock.permit WHERE permit.gate = gate.gate AND permit.at > moment.us - gate.period)
    ORDER BY gate.gate
    LIMIT 1000
    FOR UPDATE OF gate SKIP LOCKED
),
starts AS (DELETE FROM penstock.permit WHERE gate IN (SELECT gate FROM idle)),
forgotten AS (DELETE FROM penstock.gate WHERE gate IN (SELECT gate FROM idle))
SELECT (SELECT pg_notify(%(channel)s::text, '') WHERE EXISTS (SELECT 1 FROM woken))::text
