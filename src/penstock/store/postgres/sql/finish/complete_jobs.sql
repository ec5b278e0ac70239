-- Successes. The lease is the fence: a token that has none changes nothing and is not answered.
-- A job that a person cancelled meanwhile ends cancelled, and its result is ignored.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
done AS MATERIALIZED (
    SELECT row.token, row.started_at, row.result, coalesce(row.progress, lease.progress) AS progress,
        lease.id, lease.attempt, lease.session, lease.claimed_at, lease.cancel
    FROM unnest(
        %(tokens)s::bigint[], %(started)s::bigint[], %(results)s::text[], %(progress)s::text[]
    ) AS row (token, started_at, result, progress)
    CROSS JOIN LATERAL (
        SELECT id, attempt, session, claimed_at, progress, cancel
        FROM penstock.lease WHERE lease.token = row.token LIMIT 1 FOR UPDATE
    ) AS lease
),
-- By token: a lease that was changed meanwhile has moved, and this statement could not see it where it is now.
gone AS (DELETE FROM penstock.lease WHERE token = ANY (ARRAY (SELECT token FROM done))),
removed AS (
    DELETE FROM penstock.job WHERE %(remove)s::boolean AND id = ANY (ARRAY (SELECT id FROM done WHERE NOT cancel))
),
effects AS (
    DELETE FROM penstock.once WHERE %(remove)s::boolean AND id = ANY (ARRAY (SELECT id FROM done WHERE NOT cancel))
),
forgotten AS (
    DELETE FROM penstock.history
    WHERE %(remove)s::boolean AND id = ANY (ARRAY (SELECT id FROM done WHERE NOT cancel))
),
steps AS (
    INSERT INTO penstock.history (id, at, event, attempt, session)
    SELECT done.id, step.at, step.event, done.attempt, done.session
    FROM done
    CROSS JOIN moment
    CROSS JOIN LATERAL (VALUES
        (1, done.claimed_at, {CLAIM}), (2, done.started_at, {START}),
        (3, moment.us, CASE WHEN done.cancel THEN {CANCEL} ELSE {COMPLETE} END)
    ) AS step (number, at, event)
    WHERE %(record)s::boolean
    ORDER BY step.number
),
ended AS (
    INSERT INTO penstock.outcome (
        id, state, attempt, session, claimed_at, started_at, finished_at, result, progress, decided_by, keep
    )
    SELECT
        done.id, CASE WHEN done.cancel THEN {CANCELLED} ELSE {COMPLETED} END, done.attempt, done.session, done.claimed_at, done.started_at,
        moment.us, CASE WHEN done.cancel THEN NULL ELSE done.result END, done.progress,
        CASE WHEN done.cancel THEN 'operator' ELSE 'worker' END, %(keep)s::integer
    FROM done CROSS JOIN moment
    WHERE (done.cancel OR NOT %(remove)s::boolean)
        AND (
            NOT %(careful)s::boolean
            -- One that has an outcome already has ended, whoever made it wait again. Found one by one, never hashed.
            OR (SELECT outcome.id FROM penstock.outcome WHERE outcome.id = done.id LIMIT 1) IS NULL
        )
)
SELECT
    CASE WHEN count(*) < cardinality(%(tokens)s::bigint[]) THEN coalesce(array_agg(token), '{}') END,
    EXISTS (SELECT 1 FROM penstock.hold WHERE token = ANY (%(tokens)s::bigint[])),
    array_agg(token) FILTER (WHERE cancel)
FROM done
