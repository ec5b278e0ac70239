WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
overdue AS MATERIALIZED (
    SELECT ctid AS at, id FROM penstock.waiting
    WHERE expires_at <= penstock.moment(%(now)s::bigint)
    ORDER BY expires_at
    LIMIT 1000
    FOR UPDATE SKIP LOCKED
),
blocked AS MATERIALIZED (
    SELECT ctid AS at, id FROM penstock.parked
    WHERE expires_at <= penstock.moment(%(now)s::bigint)
    ORDER BY expires_at
    LIMIT 1000
    FOR UPDATE SKIP LOCKED
),
unparked AS (DELETE FROM penstock.parked WHERE ctid = ANY (ARRAY (SELECT at FROM blocked))),
gone AS (DELETE FROM penstock.waiting WHERE ctid = ANY (ARRAY (SELECT at FROM overdue))),
expired AS (
    INSERT INTO penstock.outcome (id, state, attempt, finished_at, reason, decided_by)
    SELECT ended.id, 4, 0, moment.us, 'waited in the queue for longer than its time-to-live', 'ttl'
    FROM (SELECT id FROM overdue UNION ALL SELECT id FROM blocked) AS ended
    CROSS JOIN moment
)
SELECT
    greatest((SELECT count(*) FROM overdue), (SELECT count(*) FROM blocked)),
    ARRAY (
        SELECT ticket.id::text FROM penstock.ticket
        WHERE ticket.id IN (SELECT id FROM overdue UNION ALL SELECT id FROM blocked)
    )
