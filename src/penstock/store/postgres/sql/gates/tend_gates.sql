-- Gates with room before which jobs are parked and that nobody looks at, and those that a clock which was set back keeps
-- closed for longer than their period, or at all if they have none.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
-- Whoever has one of these locked is about to delete it, and to lock its gate: it is not waited for.
leaked AS MATERIALIZED (
    SELECT gate, token FROM penstock.hold
    WHERE NOT EXISTS (SELECT 1 FROM penstock.lease WHERE lease.token = hold.token)
    FOR UPDATE SKIP LOCKED
),
freed AS (
    DELETE FROM penstock.hold USING leaked WHERE hold.gate = leaked.gate AND hold.token = leaked.token
),
stuck AS MATERIALIZED (
    SELECT gate.gate FROM penstock.gate CROSS JOIN moment
    WHERE gate.wake_at > moment.us + least(coalesce(gate.period, 0), 1000000000000000000)
        OR (
            gate.wake_at IS NULL
            AND EXISTS (SELECT 1 FROM penstock.parked WHERE parked.gate = gate.gate)
            AND gate.most > (
                SELECT count(*) FROM penstock.hold JOIN penstock.lease ON lease.token = hold.token
                WHERE hold.gate = gate.gate
            )
            -- One that is ordered has room for its first in line alone, who may be elsewhere.
            AND NOT (gate.ordered AND EXISTS (
                SELECT 1
                FROM (
                    SELECT ticket.id FROM penstock.ticket
                    WHERE ticket.name = gate.name ORDER BY ticket.due_at, ticket.number LIMIT 1
                ) AS first
                WHERE EXISTS (SELECT 1 FROM penstock.job WHERE job.id = first.id)
                    AND NOT EXISTS (SELECT 1 FROM penstock.outcome WHERE outcome.id = first.id)
                    AND NOT EXISTS (SELECT 1 FROM penstock.parked WHERE parked.id = first.id AND parked.gate = gate.gate)
            ))
        )
    ORDER BY gate.gate
    FOR UPDATE OF gate SKIP LOCKED
),
woken AS (
    UPDATE penstock.gate SET wake_at = moment.us FROM stuck CROSS JOIN moment WHERE gate.gate = stuck.gate
    RETURNING gate.gate
)
SELECT (
    SELECT pg_notify(%(channel)s::text, '') WHERE %(channel)s::text IS NOT NULL AND EXISTS (SELECT 1 FROM woken)
)::text
