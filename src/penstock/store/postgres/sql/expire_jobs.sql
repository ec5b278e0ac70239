WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
overdue AS MATERIALIZED (
    SELECT ctid AS at, id FROM penstock.waiting
    WHERE expires_at <= penstock.moment(%(now)s::bigint)
    ORDER BY expires_at
    LIMIT 1000
    FOR UPDATE SKIP LOCKED
),
gone AS (DELETE FROM penstock.waiting WHERE ctid = ANY (ARRAY (SELECT at FROM overdue))),
expired AS (
    INSERT INTO penstock.outcome (id, state, attempt, finished_at, reason, decided_by)
    SELECT overdue.id, 4, 0, moment.us, 'waited in the queue for longer than its time-to-live', 'ttl'
    FROM overdue CROSS JOIN moment
)
SELECT count(*) FROM overdue
